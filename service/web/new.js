// The view that submits a job: a form beside what the job would take.

import { getPresets, submit, validate } from './api.js';
import { announce, h, pause, put, text } from './dom.js';
import { Reader, clearFaults, controlOf, field, friMatrix, friPlaceholders, showFault, whole } from './fields.js';
import { write } from './json.js';
import { FIELD as LEAVES, HINT as LEAVES_HINT, readLeaves, writeLeaves } from './leaves.js';
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

/** The next form begins with a tree over the proofs of finished jobs, which `ids` are the first of. */
export function startFromLeaves(ids) {
  template = { recursion: { mode: 'tree', arity: 2, leaves: ids.map((job) => ({ job })) } };
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
    adapt(form, preset(), presets);
    clearFaults(form);
    const { job, faults } = read(form);
    if (faults.length) {
      for (const fault of faults) showFault(form, fault.field, fault.message);
      panel.mistaken(faults.length);
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
      // With another key the form is as it was.
      if (error.status === 401) startFrom(job);
      if (signal.aborted || mine !== round) return null;
      const shown = error.field && showFault(form, placeOf(form, error.field), complaint(error));
      if (shown) panel.mistaken(1);
      else panel.refused(error);
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
    let job = null;
    try {
      job = await look_(true);
      if (!job) {
        // Where it is said what is wrong.
        (form.querySelector('[aria-invalid]') ?? panel.element.querySelector('.note.bad'))?.focus();
        return;
      }
      const { id } = await submit(job, crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`);
      announce('The job was submitted.');
      location.hash = `#/jobs/${id}`;
    } catch (error) {
      if (error.status === 401) startFrom(job);
      const place = error.field && placeOf(form, error.field);
      if (place && showFault(form, place, complaint(error))) controlOf(form, place).focus();
      else put(problem, failure(error, error.status === 403 ? 'This API key may not submit jobs' : 'The job was not submitted'));
    } finally {
      button.disabled = false;
    }
  });
  look_(true);
}

/** The field to show a mistake at: what is wrong with the base of a leaf is wrong in the list of leaves. */
const placeOf = (form, field) => (field.startsWith('base.') && !controlOf(form, field) ? LEAVES : field);

/** What an error says. Beside a field, the field's own name in front says nothing; of many leaves, which it is does. */
const complaint = ({ message, field = '' }) => {
  const mark = [' = ', ': '].find((sign) => field && message.startsWith(field + sign));
  const said = mark ? message.slice(field.length + mark.length) : message;
  const leaf = /^recursion\.leaves\[(\d+)\]/.exec(field);
  return leaf ? `Leaf ${Number(leaf[1]) + 1}: ${said}.` : sentence(said);
};

function choice(name, value, label, what, checked) {
  return h('label', { class: 'choice' },
    h('input', { type: 'radio', name, value, checked }), h('strong', {}, label), h('span', {}, what));
}

function build(presets, panel) {
  const option = ({ name }) => h('option', { value: name, selected: name === 'default' }, name);
  const fields = h('div', { class: 'stack' },
    h('fieldset', { class: 'card', 'data-when': 'base' },
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
      h('div', { class: 'stack', 'data-when': 'tree', hidden: true },
        h('div', { class: 'choices', role: 'group', 'aria-label': 'Leaves' },
          choice('leaves', 'alike', 'Leaves alike', 'all made from the computation above', true),
          choice('leaves', 'listed', 'Leaves listed', 'each its own, finished jobs among them', false)),
        h('div', { class: 'fields' },
          field('recursion.arity', 'Arity', whole('2'), { hint: 'proofs that one layer merges' }),
          h('div', { 'data-when': 'alike' }, field('recursion.depth', 'Depth', whole('2'), { hint: 'levels of merging' })),
          h('div', { class: 'wide', 'data-when': 'listed', hidden: true },
            field(LEAVES, 'Leaves', h('textarea', { rows: 5, placeholder: 'fibonacci 1000\nkeccak 10 seed 3', spellcheck: 'false', autocapitalize: 'none' }),
              { hint: LEAVES_HINT, wide: true }))))),
    h('fieldset', { class: 'card' },
      h('legend', { class: 'unseen' }, 'Parameters'),
      h('h2', { 'aria-hidden': 'true' }, 'Parameters'),
      h('div', { class: 'fields' },
        field('preset', 'Preset', h('select', {}, presets.map(option)), { hint: ' ', wide: true })),
      h('details', {},
        h('summary', {}, 'FRI parameters'),
        h('p', { class: 'hint' }, 'What is left empty has the value of the preset, shown in grey. Queries that are derived are as many as the target level takes. A preset that promises proven bits raises queries and grinding where that takes more.'),
        friMatrix()),
      h('details', {},
        h('summary', {}, 'Priority, deadline, labels, webhook'),
        h('div', { class: 'fields' },
          field('priority', 'Priority', whole('', '0'), { hint: 'higher runs first' }),
          field('deadline_s', 'Deadline in seconds', whole('', 'none'), { hint: 'after which it is not wanted' }),
          field('labels', 'Labels', h('textarea', { rows: 2, placeholder: 'name=value', spellcheck: 'false' }),
            { hint: 'one name=value a line', wide: true }),
          field('webhook.url', 'Webhook', h('input', { type: 'url', placeholder: 'address of the receiver', autocomplete: 'off', spellcheck: 'false' }),
            { hint: 'a receiver of signed messages about the job', wide: true }),
          field('webhook.events', 'Messages', h('select', {},
            h('option', { value: 'end' }, 'when it has ended'), h('option', { value: 'state' }, 'with every state')))))),
    h('details', { class: 'card' },
      h('summary', {}, 'The request as JSON'),
      h('p', { class: 'hint' }, 'The body of POST /v1/jobs.'),
      h('pre', { tabindex: '0', 'aria-label': 'The request as JSON' })));
  // The figures come before the button: what a job takes and what it is worth is seen before it is sent.
  return h('form', { class: 'columns', novalidate: true, autocomplete: 'off', 'aria-label': 'New job' }, fields,
    h('aside', { class: 'stack', 'aria-label': 'What it takes' }, panel, h('div', { class: 'problem' }),
      h('button', { class: 'primary big', type: 'submit' }, 'Submit job')));
}

/** What the form makes, and of which kind the leaves are: a chain's are alike. */
function chosen(form) {
  const mode = form.elements['recursion.mode'].value;
  const leaves = mode === 'tree' ? form.elements.leaves.value : 'alike';
  return { program: form.elements['base.program'].value, mode, leaves };
}

/** Shows the fields that belong to the choices, and the preset's values. */
function adapt(form, preset, presets) {
  const { program, mode, leaves } = chosen(form);
  const shown = [program, mode, leaves, leaves === 'alike' && 'base'];
  for (const part of form.querySelectorAll('[data-when]')) part.hidden = !shown.includes(part.dataset.when);
  const hint = form.elements.preset.parentElement.querySelector('.hint');
  text(hint, preset.description);
  friPlaceholders(form, preset, presets, program, mode === 'tree');
}

/** The job that the form asks for, and every mistake in its fields. */
function read(form) {
  const reader = new Reader(form);
  const { leaves } = chosen(form);
  const last = reader.fri('final.fri');
  const url = form.elements['webhook.url'].value.trim();
  const job = {
    base: leaves === 'listed' ? undefined : readBase(form, reader),
    recursion: readRecursion(form, reader),
    preset: form.elements.preset.value,
    fri: reader.fri('fri'),
    final: last && { fri: last },
    priority: reader.whole('priority'),
    deadline_s: reader.whole('deadline_s'),
    labels: reader.labels(),
    webhook: url ? { url, events: form.elements['webhook.events'].value } : undefined,
  };
  const fri = reader.fri('base.fri');
  if (fri && job.base) job.base.fri = fri;
  // Parameters of base proofs are given with each leaf; only computations have some.
  if (fri && !job.base) job.recursion.leaves = job.recursion.leaves?.map((leaf) => (leaf.program ? { ...leaf, fri } : leaf));
  return { job, faults: reader.faults };
}

function readBase(form, reader) {
  const { program } = chosen(form);
  const names = program === 'keccak' ? ['num_hashes', 'seed'] : ['n', 'a', 'b'];
  return { program, ...Object.fromEntries(names.map((name) => [name, reader.need(`base.${name}`)])) };
}

function readRecursion(form, reader) {
  const { mode, leaves } = chosen(form);
  if (mode === 'chain') return { mode, layers: reader.need('recursion.layers') };
  const arity = reader.need('recursion.arity');
  return leaves === 'listed'
    ? { mode, arity, leaves: reader.attempt(() => readLeaves(form.elements[LEAVES].value)) }
    : { mode, arity, depth: reader.need('recursion.depth') };
}

/** Puts a job into the form. */
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
  const { leaves } = job.recursion ?? {};
  if (leaves) {
    set('leaves', 'listed');
    set(LEAVES, writeLeaves(leaves));
    // The form has one place for the parameters of all base proofs.
    const common = leaves.find((leaf) => Object.keys(leaf.fri ?? {}).length)?.fri;
    for (const [name, value] of Object.entries(common ?? {})) set(`base.fri.${name}`, value);
  }
  set('preset', job.preset);
  set('webhook.url', job.webhook?.url);
  set('webhook.events', job.webhook?.events);
  set('priority', job.priority || undefined);
  set('deadline_s', job.deadline_s);
  set('labels', Object.entries(job.labels ?? {}).map(([name, value]) => `${name}=${value}`).join('\n'));
}
