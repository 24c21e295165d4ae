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

/** Shows what the preset has where nothing is filled in. */
export function friPlaceholders(form, preset, program, tree) {
  const base = (program === 'fibonacci' && tree && preset.tree_fibonacci) || preset[program] || {};
  const sources = { 'base.fri': base, 'final.fri': { ...preset.layer, ...preset.final }, fri: preset.layer };
  for (const [path, source] of Object.entries(sources)) {
    for (const [name] of FRI) {
      const given = source[name];
      form.elements[`${path}.${name}`].placeholder = given === undefined || given === null ? '' : String(given);
    }
  }
}

/** A whole number of a field, as a number or beyond 2^53 as a BigInt; undefined if it is empty. */
export function readWhole(form, name) {
  const control = form.elements[name];
  const value = control.value.trim().replace(/[\s_,](?=\d{3})/g, '');
  if (value === '') return undefined;
  if (!/^-?\d+$/.test(value)) throw new FieldError(name, `“${control.value.trim()}” is not a whole number.`);
  const big = BigInt(value);
  if (big < 0n && name !== 'priority') throw new FieldError(name, 'This cannot be negative.');
  if (big >= 1n << 64n) throw new FieldError(name, 'This has more than 64 bits.');
  return big <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big;
}

/** The same for a field that must be filled in. */
export function needWhole(form, name) {
  const value = readWhole(form, name);
  if (value === undefined) throw new FieldError(name, 'A whole number is needed here.');
  return value;
}

/** FRI parameters under `path`; undefined if none is filled in. */
export function readFri(form, path) {
  const entries = FRI.map(([name]) => [name, readWhole(form, `${path}.${name}`)]);
  const given = entries.filter(([, value]) => value !== undefined);
  return given.length ? Object.fromEntries(given) : undefined;
}

/** `name=value` lines. */
export function readLabels(form) {
  const labels = {};
  for (const line of form.elements.labels.value.split('\n')) {
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
  if (fault) text(fault, message);
  control.closest('details')?.setAttribute('open', '');
  return true;
}
