// The view that submits a job: a form beside what the job would take.

import { getPresets, submit, validate } from './api.js';
import { announce, h, pause, put, text } from './dom.js';
import {
  FieldError, clearFaults, controlOf, field, friMatrix, friPlaceholders, needWhole, readFri, readLabels, readWhole,
  showFault, whole,
} from './fields.js';
import { write } from './json.js';
import { failure } from './failure.js';
import { planPanel } from './plan.js';
import { sentence } from './words.js';

const QUIET_MS = 350;
/** A job whose form shall be filled in again, kept while the page is open. */
let template = null;

/** The next form begins with the parameters of `job`. */
export function startFrom(job) {
  template = job;
}

export const title = 'New job';

export async function show(main, _parameters, signal) {
  const { presets } = await getPresets(signal);
  const panel = planPanel();
  const form = build(presets, panel.element);
  put(main,
    h('div', { class: 'head' }, h('div', {},
      h('h1', { tabindex: '-1' }, 'New job'),
      h('p', { class: 'soft' }, 'A computation, proved once and then wrapped in proofs of proofs.'))),
    form);
  if (template) fillIn(form, template);
  template = null;

  const preset = () => presets.find(({ name }) => name === form.elements.preset.value) ?? presets[0];
  let round = 0;
  const look = async (now) => {
    round += 1;
    const mine = round;
    adapt(form, preset());
    clearFaults(form);
    let job;
    try {
      job = read(form);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      showFault(form, error.field, error.message);
      panel.refused('A field needs another value.');
      return null;
    }
    text(form.querySelector('pre'), write(job, 2));
    panel.waiting();
    if (!now) await pause(QUIET_MS, signal);
    if (mine !== round) return null;
    try {
      const plan = await validate(job, signal);
      if (mine !== round) return null;
      panel.show(plan);
      return job;
    } catch (error) {
      if (signal.aborted || mine !== round) return null;
      const shown = error.field && showFault(form, error.field, complaint(error));
      panel.refused(shown ? 'A field needs another value.' : complaint(error), error);
      return null;
    }
  };
  const look_ = (now) => look(now).catch((error) => {
    if (!signal.aborted) throw error;
    return null;
  });

  // Some ways to fill in a form give only the one, some only the other.
  for (const kind of ['input', 'change']) form.addEventListener(kind, () => look_(false));
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = form.querySelector('[type=submit]');
    const problem = form.querySelector('.problem');
    put(problem);
    button.disabled = true;
    try {
      const job = await look_(true);
      if (!job) {
        const first = form.querySelector('[aria-invalid]');
        if (first) first.focus();
        else put(problem, h('p', { class: 'note bad', role: 'alert' }, panel.reason() || 'The job was not submitted.'));
        return;
      }
      const { id } = await submit(job, crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`);
      announce('The job was submitted.');
      location.hash = `#/jobs/${id}`;
    } catch (error) {
      if (error.field && showFault(form, error.field, complaint(error))) controlOf(form, error.field).focus();
      else put(problem, failure(error, 'The job was not submitted'));
    } finally {
      button.disabled = false;
    }
  });
  look_(true);
}

/** What an error says. Beside a field, the field's own name in front says nothing. */
const complaint = ({ message, field }) =>
  sentence(field && message.startsWith(`${field} = `) ? message.slice(field.length + 3) : message);

function choice(name, value, label, what, checked) {
  return h('label', { class: 'choice' },
    h('input', { type: 'radio', name, value, checked }), h('strong', {}, label), h('span', {}, what));
}

function build(presets, panel) {
  const option = ({ name }) => h('option', { value: name, selected: name === 'default' }, name);
  const fields = h('div', { class: 'stack' },
    h('fieldset', { class: 'card' },
      h('legend', { class: 'unseen' }, 'Computation'),
      h('h2', { 'aria-hidden': 'true' }, 'Computation'),
      h('div', { class: 'choices' },
        choice('base.program', 'keccak', 'Keccak', 'permutations of seeded inputs', true),
        choice('base.program', 'fibonacci', 'Fibonacci', 'one element, inputs bound', false)),
      h('div', { class: 'fields', 'data-when': 'keccak' },
        field('base.num_hashes', 'Permutations', whole('4')),
        field('base.seed', 'Seed', whole('1'))),
      h('div', { class: 'fields', 'data-when': 'fibonacci', hidden: true },
        field('base.n', 'Index n', whole('100')),
        field('base.a', 'F(0)', whole('0')),
        field('base.b', 'F(1)', whole('1')))),
    h('fieldset', { class: 'card' },
      h('legend', { class: 'unseen' }, 'Recursion'),
      h('h2', { 'aria-hidden': 'true' }, 'Recursion'),
      h('div', { class: 'choices' },
        choice('recursion.mode', 'chain', 'Chain', 'one layer upon the other', true),
        choice('recursion.mode', 'tree', 'Tree', 'layers that merge several proofs', false)),
      h('div', { class: 'fields', 'data-when': 'chain' },
        field('recursion.layers', 'Layers', whole('3'), { hint: '0 is the base proof alone' })),
      h('div', { class: 'fields', 'data-when': 'tree', hidden: true },
        field('recursion.arity', 'Arity', whole('2'), { hint: 'proofs that one layer merges' }),
        field('recursion.depth', 'Depth', whole('2'), { hint: 'levels of merging' }))),
    h('fieldset', { class: 'card' },
      h('legend', { class: 'unseen' }, 'Parameters'),
      h('h2', { 'aria-hidden': 'true' }, 'Parameters'),
      h('div', { class: 'fields' },
        field('preset', 'Preset', h('select', {}, presets.map(option)), { hint: ' ', wide: true })),
      h('details', {},
        h('summary', {}, 'FRI parameters'),
        h('p', { class: 'hint' }, 'What is left empty has the value of the preset, shown in grey.'),
        friMatrix()),
      h('details', {},
        h('summary', {}, 'Priority, deadline, labels'),
        h('div', { class: 'fields' },
          field('priority', 'Priority', whole('', '0'), { hint: 'higher runs first' }),
          field('deadline_s', 'Deadline in seconds', whole('', 'none'), { hint: 'after which it is not wanted' }),
          field('labels', 'Labels', h('textarea', { rows: 2, placeholder: 'name=value', spellcheck: 'false' }),
            { hint: 'one name=value a line', wide: true })))),
    h('details', { class: 'card' },
      h('summary', {}, 'The request as JSON'),
      h('p', { class: 'hint' }, 'The body of POST /v1/jobs.'),
      h('pre', { tabindex: '0', 'aria-label': 'The request as JSON' })));
  // The figures come before the button: what a job takes and what it is worth is seen before it is sent.
  return h('form', { class: 'columns', novalidate: true, autocomplete: 'off', 'aria-label': 'New job' }, fields,
    h('aside', { class: 'stack', 'aria-label': 'What it takes' }, panel, h('div', { class: 'problem' }),
      h('button', { class: 'primary big', type: 'submit' }, 'Submit job')));
}

/** Shows the fields that belong to the choices, and the preset's values. */
function adapt(form, preset) {
  const program = form.elements['base.program'].value;
  const mode = form.elements['recursion.mode'].value;
  for (const part of form.querySelectorAll('[data-when]')) {
    part.hidden = ![program, mode].includes(part.dataset.when);
  }
  const hint = form.elements.preset.parentElement.querySelector('.hint');
  text(hint, preset.description);
  friPlaceholders(form, preset, program, mode === 'tree');
}

/** The job that the form asks for. */
function read(form) {
  const program = form.elements['base.program'].value;
  const mode = form.elements['recursion.mode'].value;
  const base = program === 'keccak'
    ? { program, num_hashes: needWhole(form, 'base.num_hashes'), seed: needWhole(form, 'base.seed') }
    : { program, n: needWhole(form, 'base.n'), a: needWhole(form, 'base.a'), b: needWhole(form, 'base.b') };
  const recursion = mode === 'chain'
    ? { mode, layers: needWhole(form, 'recursion.layers') }
    : { mode, arity: needWhole(form, 'recursion.arity'), depth: needWhole(form, 'recursion.depth') };
  base.fri = readFri(form, 'base.fri');
  const last = readFri(form, 'final.fri');
  return {
    base,
    recursion,
    preset: form.elements.preset.value,
    fri: readFri(form, 'fri'),
    final: last && { fri: last },
    priority: readWhole(form, 'priority'),
    deadline_s: readWhole(form, 'deadline_s'),
    labels: readLabels(form),
  };
}

/** Puts a job into the form. Leaves that are not made from one base have no place in it. */
function fillIn(form, job) {
  const set = (name, value) => {
    const control = form.elements[name];
    if (control && value !== undefined && value !== null) control.value = String(value);
  };
  for (const [section, values] of [['base', job.base], ['recursion', job.recursion]]) {
    for (const [name, value] of Object.entries(values ?? {})) if (typeof value !== 'object') set(`${section}.${name}`, value);
  }
  for (const [path, fri] of [['fri', job.fri], ['base.fri', job.base?.fri], ['final.fri', job.final?.fri]]) {
    for (const [name, value] of Object.entries(fri ?? {})) set(`${path}.${name}`, value);
  }
  set('preset', job.preset);
  set('priority', job.priority || undefined);
  set('deadline_s', job.deadline_s);
  set('labels', Object.entries(job.labels ?? {}).map(([name, value]) => `${name}=${value}`).join('\n'));
}
