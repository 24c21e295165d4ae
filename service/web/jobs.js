// The list of jobs. It asks again every few seconds, as long as somebody looks.

import { listJobs } from './api.js';
import { h, pause, put, text } from './dom.js';
import { failure } from './failure.js';
import { ago, shortId, time } from './format.js';
import { STATES, isFinal, jobTitle } from './words.js';

const EVERY_MS = 2000;
const FILTERS = [
  ['', 'All jobs', []],
  ['live', 'Queued and running', ['queued', 'running', 'cancelling']],
  ['succeeded', 'Succeeded', ['succeeded']],
  ['over', 'Failed, cancelled, expired', ['failed', 'cancelled', 'expired']],
];

export const title = 'Jobs';

export async function show(main, [filter = ''], signal) {
  const [, , states] = FILTERS.find(([name]) => name === filter) ?? FILTERS[0];
  const body = h('tbody');
  const problem = h('div');
  const older = h('button', { type: 'button', class: 'plain', hidden: true }, 'Show older jobs');
  const table = h('div', { class: 'card jobs' }, h('table', {},
    h('caption', { class: 'unseen' }, 'Jobs, newest first'),
    h('thead', {}, h('tr', {}, ['Job', 'State', 'Progress', 'Submitted', 'Time'].map((name) => h('th', { scope: 'col' }, name)))),
    body));
  const empty = h('div', { class: 'card stack', hidden: true });
  const select = h('select', { 'aria-label': 'Which jobs', onchange: () => { location.hash = `#/jobs${select.value ? `?${select.value}` : ''}`; } },
    FILTERS.map(([name, label]) => h('option', { value: name, selected: name === filter }, label)));
  put(main,
    h('div', { class: 'head' },
      h('div', {}, h('h1', { tabindex: '-1' }, 'Jobs')),
      h('div', { class: 'row' }, h('div', {}, select), h('a', { class: 'button primary', href: '#/new' }, 'New job'))),
    problem, table, empty, older);

  const rows = new Map();
  const extra = [];
  let next = null;
  const take = (jobs) => {
    // Whose a job is matters to who sees those of several.
    const several = new Set(jobs.map((job) => job.owner)).size > 1;
    const wanted = jobs.map((job) => {
      const known = rows.get(job.id) ?? rowOf(job);
      rows.set(job.id, known);
      known.update(job, several);
      return known.element;
    });
    // Rows that stay where they are keep their focus.
    wanted.forEach((row, i) => { if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null); });
    while (body.children.length > wanted.length) body.lastChild.remove();
    table.hidden = jobs.length === 0;
    empty.hidden = jobs.length > 0;
    if (jobs.length === 0 && !empty.firstChild) put(empty, emptyText(filter));
  };
  older.addEventListener('click', async () => {
    try {
      const page = await listJobs({ states, cursor: next }, signal);
      extra.push(...page.jobs);
      next = page.next;
      older.hidden = !next;
      take(unique([...first, ...extra]));
    } catch (error) {
      if (!signal.aborted) put(problem, failure(error, 'Older jobs cannot be listed'));
    }
  });

  let first = [];
  const load = async () => {
    const page = await listJobs({ states }, signal);
    first = page.jobs;
    if (extra.length === 0) {
      next = page.next;
      older.hidden = !next;
    }
    take(unique([...first, ...extra]));
    put(problem);
  };
  await load();
  (async () => {
    for (;;) {
      await pause(EVERY_MS, signal);
      if (document.hidden) continue;
      try {
        await load();
      } catch (error) {
        if (!signal.aborted && !problem.firstChild) put(problem, failure(error, 'The list is not up to date', { role: 'status' }));
      }
    }
  })().catch(() => {});
}

/** A job that is on two pages is shown once, as the later answer has it. */
const unique = (jobs) => jobs.filter((job, i) => jobs.findIndex((other) => other.id === job.id) === i);

function emptyText(filter) {
  return filter
    ? h('p', {}, 'No job is in one of these states.')
    : [
        h('h2', {}, 'Nothing has been proved here yet'),
        h('p', {}, 'A job is a computation, proved once and then wrapped in proofs of proofs, in a chain or as a tree. Its proof can be downloaded and verified here or with ', h('code', {}, 'arbor verify'), '.'),
        h('p', {}, h('a', { class: 'button primary', href: '#/new' }, 'Submit the first job')),
      ];
}

function rowOf(job) {
  const badge = h('span', { class: 'badge' });
  const bar = h('progress', { class: 'mini', max: 1, value: 0, 'aria-label': `Progress of ${shortId(job.id)}` });
  const done = h('span', { class: 'num' });
  const created = h('td', { 'data-name': 'Submitted' });
  const took = h('td', { class: 'num', 'data-name': 'Time' });
  const owner = h('span', { class: 'tag', hidden: true }, `of ${job.owner}`);
  const labels = Object.entries(job.job.labels ?? {}).map(([name, value]) => h('span', { class: 'tag' }, `${name}=${value}`));
  const element = h('tr', {},
    h('td', {},
      h('a', { href: `#/jobs/${job.id}` }, jobTitle(job.job)),
      h('div', { class: 'labels' }, h('code', { class: 'soft' }, shortId(job.id)), owner, labels)),
    h('td', {}, badge),
    h('td', {}, bar, done),
    created, took);
  return {
    element,
    update({ state, progress, created_at_ms: at, started_at_ms: began, finished_at_ms: ended }, several) {
      owner.hidden = !several || !job.owner;
      badge.className = `badge ${state}`;
      text(badge, STATES[state]);
      bar.max = Math.max(1, progress.nodes_total);
      bar.value = progress.nodes_done;
      text(done, progress.nodes_total ? `${progress.nodes_done}/${progress.nodes_total}` : '–');
      text(created, ago(at));
      const end = ended ?? (isFinal(state) ? null : Date.now());
      text(took, began && end ? time(Math.max(0, end - began)) : '–');
    },
  };
}
