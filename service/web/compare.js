// Two jobs side by side, layer by layer.

import { getJob, getTimings, getTree, listJobs } from './api.js';
import { h, put } from './dom.js';
import { failure } from './failure.js';
import { bytes, ratio, shortId, time } from './format.js';
import { write } from './json.js';
import { JobModel } from './model.js';
import { bar, groups, mean, phaseLegend } from './timings.js';
import { PHASES, STATES, jobTitle } from './words.js';

export const title = 'Compare';

export async function show(main, [a, b], signal) {
  const { jobs } = await listJobs({ limit: 100 }, signal);
  const chosen = [a, b].map((id) => id && (jobs.find((job) => job.id === id) ?? { id }));
  const selects = ['First job, A', 'Second job, B'].map((label, i) => {
    const known = chosen[i] && !chosen[i].job ? [chosen[i]] : [];
    const select = h('select', { id: `pick${i}` },
      h('option', { value: '' }, 'Choose a job'),
      [...known, ...jobs].map((job) => h('option', { value: job.id, selected: job.id === chosen[i]?.id }, optionText(job))));
    return { select, part: h('div', { class: 'field' }, h('label', { for: `pick${i}` }, label), select) };
  });
  const out = h('div', { class: 'stack' });
  const go = () => {
    const ids = selects.map(({ select }) => select.value);
    history.replaceState(null, '', `#/compare/${ids[0] || '-'}/${ids[1] || '-'}`);
    draw(out, ids, signal);
  };
  for (const { select } of selects) select.addEventListener('change', go);
  put(main, h('div', { class: 'stack' },
    h('div', { class: 'head' }, h('div', {},
      h('h1', { tabindex: '-1' }, 'Compare two jobs'),
      h('p', { class: 'soft' }, 'Ratios are B to A: below one, B took less.'))),
    h('div', { class: 'card halves' }, selects.map(({ part }) => part)), out));
  await draw(out, selects.map(({ select }) => select.value), signal);
}

const optionText = (job) =>
  job.job ? `${jobTitle(job.job)} · ${STATES[job.state].toLowerCase()} · ${shortId(job.id)}` : job.id;

async function draw(out, ids, signal) {
  if (!ids[0] || !ids[1]) {
    put(out, h('p', { class: 'note' }, 'Choose two jobs to see them side by side.'));
    return;
  }
  try {
    const models = await Promise.all(ids.map((id) => load(id, signal)));
    put(out, totals(models), layers(models), phases(models), parameters(models));
  } catch (error) {
    if (!signal.aborted) put(out, failure(error, 'The jobs cannot be compared'));
  }
}

async function load(id, signal) {
  const [job, tree, timings] = await Promise.all([getJob(id, signal), getTree(id, signal), getTimings(id, signal)]);
  const model = new JobModel(job);
  model.setTree(tree);
  model.setReports(timings.layers);
  model.sum = timings.sum_ms;
  return model;
}

/** `B to A` as a cell, with words for what it means. */
function ratioCell(a, b) {
  const value = a > 0 && b !== undefined ? b / a : NaN;
  const kind = !Number.isFinite(value) || Math.abs(value - 1) < 0.02 ? null : value > 1 ? 'more' : 'less';
  return h('td', { class: 'right' }, h('span', { class: kind }, kind === 'more' ? '▲ ' : kind === 'less' ? '▼ ' : '', ratio(value)),
    kind && h('span', { class: 'unseen' }, kind === 'more' ? ' B is more' : ' B is less'));
}

function table(caption, head, rows) {
  return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${caption}, table` }, h('table', {},
    h('caption', { class: 'unseen' }, caption),
    h('thead', {}, h('tr', {}, head.map((name, i) => h('th', { scope: 'col', class: name === BARS ? 'bar-head' : i ? 'right' : null }, name)))),
    h('tbody', {}, rows)));
}

const row = (name, a, b, show) =>
  h('tr', {}, h('th', { scope: 'row' }, name), [a, b].map((value) => h('td', { class: 'right' }, show(value))), ratioCell(a, b));

const HEAD = ['A', 'B', 'B to A'];
const BARS = 'A above B';

function totals(models) {
  const elapsed = ({ job }) => (job.finished_at_ms && job.started_at_ms ? job.finished_at_ms - job.started_at_ms : undefined);
  const pairs = [
    ['Proving, all proofs', ({ sum }) => sum.total || undefined, time],
    ['From start to end', elapsed, time],
    ['Proof file', ({ job }) => job.proof?.bytes, bytes],
    ['Proofs', ({ list }) => list.length, String],
  ];
  return h('section', { class: 'card', 'aria-labelledby': 'totals' }, h('h2', { id: 'totals' }, 'In all'),
    table('In all', ['Figure', ...HEAD], pairs.map(([name, of, show]) => row(name, of(models[0]), of(models[1]), show))));
}

/** Rows are matched by place and kind, of levels where a job has too many nodes. What has no match stands alone. */
function layers(models) {
  const [first, second] = models.map((model) => groups(model.list));
  const byKey = new Map(second.map((group) => [group.key, group]));
  const keys = [...first.map(({ key }) => key), ...second.map(({ key }) => key).filter((key) => !first.some((group) => group.key === key))];
  const of = (found, key) => found.find((group) => group.key === key);
  const lines = keys.map((key) => {
    const pair = [of(first, key), byKey.get(key)];
    return { label: (pair[0] ?? pair[1]).label, times: pair.map((group) => group && mean(group)) };
  });
  const most = Math.max(1e-6, ...lines.flatMap(({ times }) => times.map((found) => found?.total ?? 0)));
  const rows = lines.map(({ label, times: [a, b] }) => h('tr', { class: 'has-bar' },
    h('th', { scope: 'row' }, label),
    h('td', { class: 'bar-cell', 'aria-hidden': 'true' }, h('div', { class: 'pair' }, bar(a, most), bar(b, most))),
    [a, b].map((times) => h('td', { class: 'right' }, times ? time(times.total) : '–')),
    ratioCell(a?.total, b?.total)));
  return h('section', { class: 'card', 'aria-labelledby': 'layers' },
    h('h2', { id: 'layers' }, 'Layer by layer'), phaseLegend(),
    table('Layer by layer', ['Layer', BARS, ...HEAD], rows));
}

function phases([a, b]) {
  return h('section', { class: 'card', 'aria-labelledby': 'phases' }, h('h2', { id: 'phases' }, 'Phase by phase, all proofs'),
    table('Phase by phase', ['Phase', ...HEAD], PHASES.map((name) => row(name, a.sum[name], b.sum[name], time))));
}

/** What the jobs differ in. */
function parameters([a, b]) {
  const [first, second] = [flatten(a.job.job), flatten(b.job.job)];
  const names = [...new Set([...first.keys(), ...second.keys()])].filter((name) => first.get(name) !== second.get(name));
  const rows = names.map((name) => h('tr', {}, h('th', { scope: 'row', class: 'mono' }, name),
    [first, second].map((values) => h('td', {}, values.get(name) ?? h('span', { class: 'soft' }, 'not given')))));
  return h('section', { class: 'card', 'aria-labelledby': 'differences' }, h('h2', { id: 'differences' }, 'What was asked for'),
    names.length
      ? h('div', { class: 'scroll wraps', tabindex: '0', role: 'region', 'aria-label': 'Differing parameters' }, h('table', {}, h('caption', { class: 'unseen' }, 'Differing parameters'),
          h('thead', {}, h('tr', {}, ['Field', 'A', 'B'].map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, rows)))
      : h('p', { class: 'soft' }, 'The same in both jobs.'));
}

function flatten(value, path = '', out = new Map()) {
  for (const [name, part] of Object.entries(value ?? {})) {
    const full = path ? `${path}.${name}` : name;
    if (part && typeof part === 'object' && !Array.isArray(part)) flatten(part, full, out);
    else out.set(full, typeof part === 'string' ? part : write(part));
  }
  return out;
}
