// The view of one job: it fills in while the proofs are made.

import { deleteJob, download, getJob, getTimings, getTree, paths, retryJob, validate } from './api.js';
import { Deliveries } from './deliveries.js';
import { announce, h, pause, put, text } from './dom.js';
import { follow } from './events.js';
import { failure } from './failure.js';
import { ago, bytes, count, moment, shortId, span, time } from './format.js';
import { write } from './json.js';
import { JobModel, expectedNodes } from './model.js';
import { startFrom, startFromLeaves } from './new.js';
import { securityTable } from './security.js';
import { statementView } from './statement.js';
import { nodeTable, timingBars } from './timings.js';
import { nodeNames, treeLegend, treeMap } from './tree.js';
import { STATES, errorClass, isFinal, jobTitle, phaseText, sentence } from './words.js';

export const title = ([id]) => `Job ${shortId(id)}`;

export async function show(main, [id], signal) {
  const view = new JobView(main, id, signal);
  await view.start();
}

class JobView {
  constructor(main, id, signal) {
    Object.assign(this, { main, id, signal, drawing: false });
  }

  async start() {
    const [job, tree, timings] = await Promise.all([
      getJob(this.id, this.signal), getTree(this.id, this.signal), getTimings(this.id, this.signal),
    ]);
    this.model = new JobModel(job);
    this.model.setTree(tree);
    this.model.setReports(timings.layers);
    this.build();
    this.draw();
    this.watchDeliveries();
    if (isFinal(job.state)) return;
    this.tick();
    this.live();
  }

  /** Follows the events to the end of the job, then fetches what only the record has. */
  async live() {
    const { signal } = this;
    try {
      await follow(this.id, {
        after: this.model.lastEvent,
        signal,
        onEvent: (event) => this.take(event),
        onConnection: (up, error) => this.connection(up, error),
      });
      await this.refresh();
    } catch (error) {
      if (!signal.aborted) put(this.parts.problem, failure(error, 'The job cannot be followed any more'));
    }
  }

  take(event) {
    const before = this.model.job.state;
    if (this.model.apply(event)) this.refetchTree();
    const { state, progress } = this.model.job;
    if (event.kind === 'node-finished') announce(`${progress.nodes_done} of ${progress.nodes_total} proofs are done.`);
    if (state !== before) {
      announce(`The job is ${STATES[state].toLowerCase()}.`);
      if (isFinal(state)) this.refresh().catch(() => {});
    }
    this.soon();
  }

  connection(up, error) {
    put(this.parts.link, up ? null : h('p', { class: 'note warn' }, 'The connection is lost. ', error?.message ?? '', ' Trying again …'));
  }

  /** The record, the tree and the reports as they are now. */
  async refresh() {
    const [job, tree, timings] = await Promise.all([
      getJob(this.id, this.signal), getTree(this.id, this.signal), getTimings(this.id, this.signal),
    ]);
    this.model.job = job;
    this.model.setTree(tree);
    this.model.setReports(timings.layers);
    this.draw();
  }

  watchDeliveries() {
    const { webhook } = this.model.job.job;
    if (!webhook) return;
    this.deliveries ??= new Deliveries(this.id, webhook, this.parts, this.signal);
    this.deliveries.watch(() => isFinal(this.model.job.state));
  }

  /** The plan was made after the page was opened. One request at a time. */
  async refetchTree() {
    if (this.fetching) return;
    this.fetching = true;
    try {
      this.model.setTree(await getTree(this.id, this.signal));
      this.soon();
    } catch {
      // The next event of a node that is not known asks again.
    } finally {
      this.fetching = false;
    }
  }

  /** Draws with the next frame: events come in bursts. */
  soon() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      if (!this.signal.aborted) this.draw();
    });
  }

  /** Elapsed time while it runs. */
  async tick() {
    try {
      while (!isFinal(this.model.job.state)) {
        await pause(1000, this.signal);
        this.drawTimes();
      }
    } catch {
      // The view is left.
    }
  }

  build() {
    const { job } = this.model;
    const parts = {
      badge: h('span', { class: 'badge' }),
      actions: h('div', { class: 'row actions' }),
      problem: h('div', {}),
      link: h('div', { role: 'status' }),
      bar: h('progress', { max: 1, value: 0, 'aria-label': 'Progress' }),
      done: h('p', { class: 'num' }),
      elapsed: h('dd', {}, h('span'), h('small')), created: h('dd', {}, h('span'), h('small')), proof: h('dd', {}), memory: h('dd', {}, h('span'), h('small')),
      deadline: h('dd', {}, h('span'), h('small')), told: h('dd', {}, h('span', {}, '–'), h('small')), messages: h('ul', { class: 'lines' }),
      statement: h('div', {}),
      note: h('div', { role: 'status' }),
    };
    const table = nodeTable({ onDownload: (node, button) => this.downloadProof(node, button) });
    const map = treeMap({ onPick: (node) => { this.tableBox.open = true; table.reveal(node); } });
    const bars = timingBars();
    Object.assign(this, { parts, table, map, bars });
    this.tableBox = h('details', {}, h('summary', {}, 'All nodes as a table'), table.element);
    const fact = (label, value) => h('div', {}, h('dt', {}, label), value);
    const labels = Object.entries(job.job.labels ?? {}).map(([name, value]) => h('span', { class: 'tag' }, `${name}=${value}`));
    put(this.main, h('div', { class: 'stack' },
      h('div', { class: 'head' },
        h('div', {},
          h('h1', { tabindex: '-1' }, jobTitle(job.job)),
          h('p', { class: 'row' }, parts.badge, h('code', { class: 'soft' }, this.id)),
          labels.length > 0 && h('p', { class: 'labels' }, labels)),
        parts.actions),
      parts.problem, parts.link, parts.note,
      h('section', { class: 'card stack', 'aria-labelledby': 'progress-title' },
        h('h2', { id: 'progress-title' }, 'Progress'),
        h('div', { class: 'tight' }, parts.bar, parts.done),
        map.element, treeLegend(), nodeNames()),
      h('section', { class: 'card', 'aria-label': 'Figures' },
        h('dl', { class: 'facts' },
          fact('Submitted', parts.created), fact('Time', parts.elapsed), fact('Proof', parts.proof), fact('Memory, estimated', parts.memory),
          job.owner && fact('Owner', h('dd', {}, job.owner)),
          job.job.priority ? fact('Priority', h('dd', {}, count(job.job.priority))) : null,
          job.job.deadline_s && fact('Deadline', parts.deadline),
          job.job.webhook && fact('Webhook', parts.told))),
      h('section', { class: 'card', 'aria-labelledby': 'timings-title' },
        h('header', { class: 'row' }, h('h2', { id: 'timings-title' }, 'Time by phase'),
          h('button', { type: 'button', class: 'plain small', onclick: () => this.save(paths.timingsCsv(this.id), `${this.id}.csv`, 'The times were not downloaded') }, 'Download CSV')),
        bars.element, this.tableBox),
      h('section', { class: 'card', 'aria-labelledby': 'statement-title' },
        h('h2', { id: 'statement-title' }, 'What the proof says'), parts.statement),
      this.more()));
  }

  /** Parts that are looked at now and then. */
  more() {
    const { job } = this.model;
    const figures = h('div', {}, h('p', { class: 'soft' }, 'Asking the server …'));
    const ask = async () => {
      try {
        put(figures, securityTable((await validate(job.job, this.signal)).security));
      } catch (error) {
        if (!this.signal.aborted) put(figures, failure(error, 'There are no figures', { role: 'group' }));
      }
    };
    const once = (event) => {
      if (event.currentTarget.open && !this.asked) {
        this.asked = true;
        ask();
      }
    };
    return h('section', { class: 'card tight', 'aria-label': 'More' },
      h('details', { ontoggle: once }, h('summary', {}, 'Security figures'), figures),
      job.job.webhook && h('details', {}, h('summary', {}, 'Messages to the webhook'), this.parts.messages),
      h('details', {}, h('summary', {}, 'Job as JSON'), h('pre', { tabindex: '0', 'aria-label': 'Job as JSON' }, write(job.job, 2))),
      h('details', {}, h('summary', {}, 'Verifying keys'), this.keys = h('ol', { class: 'mono', start: '0' })));
  }

  draw() {
    const { job } = this.model;
    const list = this.model.list.length ? this.model.list : expectedNodes(job.job.recursion);
    const { parts } = this;
    parts.badge.className = `badge ${job.state}`;
    text(parts.badge, STATES[job.state]);
    const { nodes_done: done, nodes_total: total } = job.progress;
    parts.bar.max = Math.max(1, total);
    parts.bar.value = done;
    const doing = isFinal(job.state) ? '' : phaseText(job.phase) || (job.state === 'queued' ? 'waiting for its turn' : '');
    text(parts.done, [total ? `${count(done)} of ${count(total)} proofs` : isFinal(job.state) ? 'Nothing was proved' : 'Not planned yet', doing].filter(Boolean).join(' · '));
    this.map.show(list);
    this.bars.show(list);
    this.table.show(list);
    this.drawTimes();
    text(parts.proof, job.proof ? bytes(job.proof.bytes) : '–');
    const peaks = list.map((node) => node.report?.peak_bytes ?? 0);
    text(parts.memory.firstChild, bytes(job.estimate.peak_bytes));
    // Of the whole process, with other jobs and what it keeps: nothing to hold against the estimate.
    text(parts.memory.lastChild, peaks.some(Boolean) ? `the server at its peak: ${bytes(Math.max(...peaks))}` : '');
    text(parts.deadline.firstChild, moment(job.deadline_at_ms));
    text(parts.deadline.lastChild, job.job.deadline_s ? `within ${span(job.job.deadline_s)}` : '');
    this.drawState();
  }

  drawTimes() {
    const { job } = this.model;
    const { parts } = this;
    text(parts.created.firstChild, ago(job.created_at_ms));
    text(parts.created.lastChild, moment(job.created_at_ms));
    const end = job.finished_at_ms ?? (isFinal(job.state) ? null : Date.now());
    const elapsed = job.started_at_ms && end ? time(Math.max(0, end - job.started_at_ms)) : '–';
    text(parts.elapsed.firstChild, elapsed);
    text(parts.elapsed.lastChild, `estimated ${time(job.estimate.prove_ms)}`);
  }

  /** What depends on the state alone: drawn again only when that changes, so that focus is kept. */
  drawState() {
    const { job } = this.model;
    const { parts } = this;
    const now = `${job.state} ${Boolean(job.proof)} ${Boolean(job.statement)} ${job.error?.message} ${job.keys.length}`;
    if (now === this.drawnState) return;
    this.drawnState = now;
    put(parts.problem, job.error && this.errorNote(job.error));
    put(parts.statement, job.statement
      ? statementView(job.statement)
      : h('p', { class: 'soft' }, isFinal(job.state) ? 'There is no proof.' : 'It is said when the proof is there.'));
    put(this.keys, job.keys.map((key) => h('li', { class: 'digest' }, key)));
    const held = parts.actions.contains(document.activeElement);
    put(parts.actions, this.actions(job));
    if (held) this.main.querySelector('h1').focus();
  }

  errorNote(error) {
    const { deadline_s: deadline } = this.model.job.job;
    // The title says that it passed.
    const why = error.class === 'deadline' && deadline ? `It was wanted within ${span(deadline)}.` : sentence(error.message);
    return h('div', { class: 'note bad', role: 'alert' },
      h('h2', {}, errorClass(error.class)),
      h('p', {}, why, error.node && ` It was node ${error.node}.`),
      h('p', { class: 'small' }, error.retryable
        ? 'A retry may help; proofs that are done are kept.'
        : 'A retry as it is would end the same way.'));
  }

  actions(job) {
    const button = (label, act, kind) => h('button', { type: 'button', class: kind, onclick: act }, label);
    const over = isFinal(job.state);
    const canRetry = ['failed', 'cancelled', 'expired'].includes(job.state) && (job.error?.retryable ?? true);
    return [
      job.proof && button('Download proof', () => this.downloadProof(null), 'primary'),
      canRetry && button('Retry', () => this.act(() => retryJob(this.id), 'The job was not retried'), job.proof ? null : 'primary'),
      !over && job.state !== 'cancelling' && button('Cancel', () => this.act(() => deleteJob(this.id), 'The job was not cancelled'), 'danger'),
      h('a', { class: 'button', href: '#/new', onclick: () => startFrom(job.job) }, 'Use as template'),
      job.proof && h('a', { class: 'button', href: '#/new', onclick: () => startFromLeaves([this.id]) }, 'Use as leaf'),
      over && h('a', { class: 'button', href: `#/compare/${this.id}` }, 'Compare'),
    ];
  }

  /** Retry and cancel: the state comes back with the events. */
  async act(request, complaint) {
    const wasOver = isFinal(this.model.job.state);
    try {
      await request();
      await this.refresh();
      this.watchDeliveries();
      if (wasOver && !isFinal(this.model.job.state)) {
        this.tick();
        this.live();
      }
    } catch (error) {
      if (!this.signal.aborted) put(this.parts.problem, failure(error, complaint));
    }
  }

  async downloadProof(node, button) {
    if (button) button.disabled = true;
    const name = node ? `${this.id}-${node.replace('/', '-')}.arbor` : `${this.id}.arbor`;
    await this.save(paths.proof(this.id, node), name, node ? `The proof of node ${node} cannot be had by itself` : 'The proof was not downloaded');
    if (button) button.disabled = false;
  }

  /** Downloads a file, or says why not. */
  async save(path, name, complaint) {
    const { note } = this.parts;
    put(note);
    try {
      await download(path, name);
      announce(`${name} was downloaded.`);
    } catch (error) {
      put(note, failure(error, complaint));
      note.scrollIntoView({ block: 'nearest' });
    }
  }
}
