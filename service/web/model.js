// A job with its nodes, kept up to date from its events.

import { isFinal } from './words.js';

/** What is known of a job. `apply` takes one event; what is shown is read from the fields. */
export class JobModel {
  constructor(job) {
    this.job = job;
    this.nodes = new Map();
    this.lastEvent = 0;
  }

  get list() {
    return [...this.nodes.values()];
  }

  /** Takes the nodes as the server lists them, and keeps the reports that are known. */
  setTree(tree) {
    const known = this.nodes;
    this.nodes = new Map(tree.nodes.map((node) => [node.id, { ...node, report: known.get(node.id)?.report ?? null }]));
  }

  setReports(layers) {
    for (const { id, ...report } of layers) {
      const node = this.nodes.get(id);
      if (node) node.report = report;
    }
  }

  /** Takes an event. True if it names a node that is not known: the tree must be fetched again. */
  apply({ id, kind, data }) {
    this.lastEvent = id;
    const { job } = this;
    const node = this.nodes.get(data.node);
    if (kind === 'state') {
      job.state = data.state;
      job.error = data.error ?? null;
      if (isFinal(data.state)) job.phase = null;
      for (const other of this.list) {
        if (other.state === 'failed' && !isFinal(data.state)) other.state = 'waiting';
        if (other.state === 'running' && isFinal(data.state)) other.state = data.error?.node === other.id ? 'failed' : 'ready';
      }
    } else if (kind === 'progress') {
      job.progress = { nodes_done: data.nodes_done, nodes_total: data.nodes_total };
      job.phase = data.phase ?? job.phase;
      return data.nodes_total > this.nodes.size;
    } else if (kind === 'node-started') {
      if (node) node.state = 'running';
      return !node;
    } else if (kind === 'node-finished') {
      if (!node) return true;
      node.state = 'done';
      node.hash = data.hash ?? node.hash;
      node.bytes = data.bytes ?? node.bytes;
      node.report = data.report ?? node.report;
    }
    return false;
  }
}
