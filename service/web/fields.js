// Fields of the form: built with label, hint and a place for what is wrong; read into a job.

import { h, text } from './dom.js';

/** FRI parameters: name, label, what it is. */
export const FRI = [
  ['security_level', 'Target level', 'bits by the usual count; gives the queries'],
  ['num_queries', 'Queries', 'goes before the level'],
  ['log_blowup', 'Log blowup', 'inverse of the code rate'],
  ['max_log_arity', 'Log arity', 'most points one fold merges'],
  ['log_final_poly_len', 'Log final length', 'of the final polynomial'],
  ['cap_height', 'Cap height', 'of the Merkle trees'],
  ['query_pow_bits', 'Query grinding', 'bits before the queries'],
  ['commit_pow_bits', 'Folding grinding', 'bits before each fold'],
  ['batch_pow_bits', 'Batching grinding', 'bits before batching'],
  ['lookup_pow_bits', 'Lookup grinding', 'bits before the lookups'],
  ['ood_pow_bits', 'Out-of-domain grinding', 'bits before that point'],
];

/** What is wrong with one field, found before anything is sent. */
export class FieldError extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

let serial = 0;

/** A labelled field. `name` is its path in the job; `control` the input, select or textarea. */
export function field(name, label, control, { hint, wide } = {}) {
  serial += 1;
  const id = `f${serial}`;
  const described = [hint && `${id}-hint`, `${id}-fault`].filter(Boolean).join(' ');
  control.id = id;
  control.name = name;
  control.setAttribute('aria-describedby', described);
  return h('div', { class: wide ? 'field wide' : 'field', 'data-field': name },
    h('label', { for: id }, label),
    control,
    hint && h('span', { class: 'hint', id: `${id}-hint` }, hint),
    h('span', { class: 'fault', id: `${id}-fault` }));
}

/** An input for a whole number. Not of type number: a browser gives no text for what it cannot read. */
export const whole = (value = '', placeholder = '') =>
  h('input', { type: 'text', inputmode: 'numeric', autocomplete: 'off', spellcheck: 'false', value, placeholder });

/** The rows of FRI parameters: for every proof, the base, the last layer. */
export function friMatrix() {
  const columns = [['fri', 'every proof'], ['base.fri', 'base proof'], ['final.fri', 'last layer']];
  const rows = FRI.map(([name, label, hint]) => {
    const inputs = columns.map(([path, where]) =>
      h('input', {
        type: 'text', inputmode: 'numeric', autocomplete: 'off', name: `${path}.${name}`,
        'aria-label': `${label}, ${where}`, 'aria-describedby': `fault-${name}`,
      }));
    return [
      h('div', { class: 'name' }, label, h('small', {}, hint)),
      inputs,
      h('span', { class: 'fault', id: `fault-${name}` }),
    ];
  });
  return h('div', { class: 'matrix' },
    h('div', { class: 'col' }, 'Parameter'),
    columns.map(([, where]) => h('div', { class: 'col' }, where[0].toUpperCase() + where.slice(1))),
    rows);
}

/** What a preset that leaves a parameter out has there: the layers of the preset `default`, and no grinding. */
function builtIn(presets) {
  const none = Object.fromEntries(FRI.filter(([name]) => name.endsWith('_pow_bits')).map(([name]) => [name, 0]));
  return { ...none, ...presets.find(({ name }) => name === 'default')?.layer };
}

/** The words for a preset's value. Queries and level: one of them is given, the other follows or does not count. */
function presetValue(source, name) {
  const counted = source.num_queries ?? null;
  if (name === 'num_queries' && counted === null) return 'derived';
  if (name === 'security_level' && counted !== null) return 'none';
  return String(source[name] ?? '');
}

/** Values over others, as the server lays them: a level goes before queries that were counted further below. */
const over = (below, above) => ({ ...below, ...(above.security_level !== undefined && { num_queries: undefined }), ...above });

/** Shows what the preset has where nothing is filled in. */
export function friPlaceholders(form, preset, presets, program, tree) {
  const base = (program === 'fibonacci' && tree && preset.tree_fibonacci) || preset[program] || {};
  const sources = { 'base.fri': base, 'final.fri': over(preset.layer, preset.final), fri: preset.layer };
  for (const [path, source] of Object.entries(sources)) {
    for (const [name] of FRI) {
      form.elements[`${path}.${name}`].placeholder = presetValue(over(builtIn(presets), source), name);
    }
  }
}

/** Reads the fields of a form. What cannot be read is undefined and lies in `faults`, so that all is told at once. */
export class Reader {
  constructor(form) {
    this.form = form;
    this.faults = [];
  }

  /** What `read` gives; a mistake that it finds is kept. */
  attempt(read) {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      this.faults.push(error);
      return undefined;
    }
  }

  /** A whole number, as a number or beyond 2^53 as a BigInt; undefined if the field is empty. */
  whole(name) {
    return this.attempt(() => wholeOf(this.form.elements[name]));
  }

  /** The same for a field that must be filled in. */
  need(name) {
    return this.attempt(() => {
      const value = wholeOf(this.form.elements[name]);
      if (value === undefined) throw new FieldError(name, 'A whole number is needed here.');
      return value;
    });
  }

  /** FRI parameters under `path`; undefined if none is filled in. */
  fri(path) {
    const entries = FRI.map(([name]) => [name, this.whole(`${path}.${name}`)]);
    const given = entries.filter(([, value]) => value !== undefined);
    return given.length ? Object.fromEntries(given) : undefined;
  }

  /** `name=value` lines. */
  labels() {
    return this.attempt(() => labelsOf(this.form.elements.labels.value));
  }
}

function wholeOf({ name, value: written }) {
  const value = written.trim().replace(/[\s_,](?=\d{3})/g, '');
  if (value === '') return undefined;
  if (!/^-?\d+$/.test(value)) throw new FieldError(name, `“${written.trim()}” is not a whole number.`);
  const big = BigInt(value);
  if (big < 0n && name !== 'priority') throw new FieldError(name, 'This cannot be negative.');
  if (big >= 1n << 64n) throw new FieldError(name, 'This has more than 64 bits.');
  return big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big;
}

function labelsOf(written) {
  const labels = {};
  for (const line of written.split('\n')) {
    if (!line.trim()) continue;
    const at = line.indexOf('=');
    if (at < 1) throw new FieldError('labels', `“${line.trim()}” has no name and value: write name=value.`);
    const name = line.slice(0, at).trim();
    if (name in labels) throw new FieldError('labels', `The label ${name} is there twice.`);
    labels[name] = line.slice(at + 1).trim();
  }
  return Object.keys(labels).length ? labels : undefined;
}

/**
 * The control that a field of an error belongs to: the field itself, or the nearest around or within it. Those in
 * a part that is folded up count, those that do not belong to the choices do not.
 */
export function controlOf(form, name) {
  const all = [...form.elements].filter((control) => control.name && !control.closest('[hidden]'));
  const named = all.filter((control) => control.offsetParent !== null);
  for (const controls of [named, all]) {
    const exact = controls.find((control) => control.name === name);
    const around = controls.find((control) => name.startsWith(`${control.name}.`) || name.startsWith(`${control.name}[`));
    const within = controls.find((control) => control.name.startsWith(`${name}.`) || control.name.endsWith(`.${name}`));
    if (exact ?? around ?? within) return exact ?? around ?? within;
  }
  return null;
}

/** Takes every mark of a mistake away. */
export function clearFaults(form) {
  for (const control of form.querySelectorAll('[aria-invalid]')) control.removeAttribute('aria-invalid');
  for (const fault of form.querySelectorAll('.fault')) text(fault, '');
}

/** Marks a field and says what is wrong with it. False if there is no such field. */
export function showFault(form, name, message) {
  const control = controlOf(form, name);
  if (!control) return false;
  control.setAttribute('aria-invalid', 'true');
  const place = control.getAttribute('aria-describedby')?.split(' ').pop();
  const fault = place && document.getElementById(place);
  // The fields of a row share one place.
  if (fault && !fault.textContent.includes(message)) text(fault, [fault.textContent, message].filter(Boolean).join(' '));
  control.closest('details')?.setAttribute('open', '');
  return true;
}
