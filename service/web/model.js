// A job with its nodes, kept up to date from its events.

import { isFinal } from './words.js';

/** What is known of a job. `apply` takes one event; what is shown is read from the fields. */
export class JobModel {
  #nodes = new Map();
  /** What events said of nodes, also of those that no tree had yet. */
  #heard = new Map();

  constructor(job) {
    this.job = job;
    this.lastEvent = 0;
  }

  /** The nodes, children before parents. */
  get list() {
    return [...this.#nodes.values()];
  }

  /** Takes the nodes as the server lists them. What events said meanwhile is newer, and reports are kept. */
  setTree(tree) {
    this.#nodes = new Map(tree.nodes.map((node) => [node.id, { report: null, ...node, ...this.#heard.get(node.id) }]));
    this.#count();
  }

  /** Takes reports as the server lists them. */
  setReports(layers) {
    for (const { id, ...report } of layers) this.#hear(id, { report });
  }

  /** Takes an event. True if it is about a plan that is not known: the tree must be fetched. */
  apply({ id, kind, data }) {
    this.lastEvent = id;
    if (kind === 'state') this.#setState(data);
    else if (kind === 'progress') this.#setProgress(data);
    else if (kind === 'node-started') {
      this.#hear(data.node, { state: 'running' });
      this.job.phase = { node: data.node, name: 'start' };
    } else if (kind === 'node-finished') {
      const { hash, bytes, report } = data;
      this.#hear(data.node, { state: 'done', hash, bytes, ...(report && { report }) });
      this.#count();
    }
    return data.node !== undefined && !this.#nodes.has(data.node);
  }

  #hear(id, facts) {
    this.#heard.set(id, { ...this.#heard.get(id), ...facts });
    const node = this.#nodes.get(id);
    if (node) Object.assign(node, facts);
  }

  #setState({ state, error, at_ms: at }) {
    if (state === 'running') this.job.started_at_ms ??= at;
    this.job.finished_at_ms = isFinal(state) ? at : null;
    this.job.state = state;
    this.job.error = error ?? null;
    if (isFinal(state)) this.job.phase = null;
    for (const node of this.list) {
      if (isFinal(state) && node.state === 'running') this.#hear(node.id, { state: error?.node === node.id ? 'failed' : 'ready' });
      if (!isFinal(state) && node.state === 'failed') this.#hear(node.id, { state: 'ready' });
    }
  }

  #setProgress({ nodes_done: done, nodes_total: total, phase }) {
    if (phase) this.job.phase = phase;
    if (this.#nodes.size === 0) this.job.progress = { nodes_done: done, nodes_total: total };
  }

  /** Progress comes now and then; every node that is done counts at once. */
  #count() {
    if (this.#nodes.size === 0) return;
    const done = this.list.filter((node) => node.state === 'done').length;
    this.job.progress = { nodes_done: done, nodes_total: this.#nodes.size };
  }
}

/** The nodes that a job will most likely have, so that the picture has its size before the plan is there. */
export function expectedNodes({ mode, layers, arity, depth, leaves }) {
  const node = (level, index, kind, children) => ({ id: `${level}/${index}`, kind, children, state: 'waiting', report: null });
  const kind = (level) => (level === 0 ? 'base' : mode === 'chain' ? 'layer' : 'merge');
  if (mode === 'chain') {
    return Array.from({ length: layers + 1 }, (_, i) => node(i, 0, kind(i), i ? [`${i - 1}/0`] : []));
  }
  let width = leaves?.length ?? arity ** depth;
  const nodes = Array.from({ length: width }, (_, i) => node(0, i, kind(0), []));
  for (let level = 1; width > 1 || level === 1; level += 1) {
    const below = width;
    width = Math.ceil(below / arity);
    for (let i = 0; i < width; i += 1) {
      const children = Array.from({ length: Math.min(arity, below - i * arity) }, (_, k) => `${level - 1}/${i * arity + k}`);
      nodes.push(node(level, i, kind(level), children));
    }
  }
  return nodes;
}
