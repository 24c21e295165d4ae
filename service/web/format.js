// Figures as people read them.

const number = new Intl.NumberFormat('en');

export const count = (value) => (value === undefined || value === null ? '–' : number.format(value));

/** `3 layers`, `1 layer`. */
export const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 || value === 1n ? one : more}`;

/** Bytes in binary units, three digits. */
export function bytes(value) {
  if (value === undefined || value === null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let rest = Number(value);
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${digits(rest, unit === 0 ? 0 : undefined)} ${units[unit]}`;
}

/** Milliseconds as ms, s, min or h, three digits. */
export function time(ms) {
  if (ms === undefined || ms === null) return '–';
  if (ms < 1000) return `${digits(ms)} ms`;
  if (ms < 120_000) return `${digits(ms / 1000)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${digits(ms / 3_600_000)} h`;
}

/** Three significant digits, without an exponent. */
function digits(value, fixed) {
  if (fixed !== undefined) return value.toFixed(fixed);
  if (value >= 100) return value.toFixed(0);
  if (value >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** Whole seconds in the largest unit that people count in, rounded up: who waits that long has waited enough. */
export function span(seconds) {
  if (seconds < 120) return many(Math.ceil(seconds), 'second');
  if (seconds < 7200) return many(Math.ceil(seconds / 60), 'minute');
  if (seconds < 172_800) return many(Math.ceil(seconds / 3600), 'hour');
  return many(Math.ceil(seconds / 86_400), 'day');
}

/** A point in time, in the reader's zone. */
export const moment = (ms) =>
  ms === undefined || ms === null
    ? '–'
    : new Date(Number(ms)).toLocaleString('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** How long ago, in words. */
export function ago(ms, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Number(ms)) / 1000));
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** The last part of an id: what tells neighbours apart. */
export const shortId = (id) => id.slice(-12);

/** `1.32×`. */
export const ratio = (value) => (Number.isFinite(value) ? `${value.toFixed(2)}×` : '–');
