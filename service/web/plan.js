// What a job would take: the panel beside the form.

import { h, put, text } from './dom.js';
import { bytes, count, time } from './format.js';
import { failure } from './failure.js';
import { securityTable } from './security.js';
import { treeMap } from './tree.js';

/** The panel. Its parts are there from the beginning, so that nothing moves when the figures come. */
export function planPanel() {
  const figure = (label) => {
    const value = h('dd', {}, '–');
    return { value, part: h('div', {}, h('dt', {}, label), value) };
  };
  const figures = { proofs: figure('Proofs'), time: figure('Time, roughly'), memory: figure('Peak memory'), disk: figure('Disk') };
  const map = treeMap({ compact: true });
  const status = h('p', { class: 'small soft', role: 'status' }, 'Checking …');
  const security = h('div', { class: 'security-slot' });
  const element = h('section', { class: 'card stack plan', 'aria-labelledby': 'plan-title' },
    h('header', {}, h('h2', { id: 'plan-title' }, 'What it takes'), status),
    h('dl', { class: 'facts big' }, Object.values(figures).map(({ part }) => part)),
    map.element,
    security);
  let reason = '';
  const set = (name, value) => text(figures[name].value, value);
  return {
    element,
    reason: () => reason,
    waiting() {
      text(status, 'Checking …');
      status.className = 'small soft';
    },
    /** The job would be admitted. */
    show({ nodes, estimate, security: bits }) {
      reason = '';
      text(status, 'It would be admitted.');
      set('proofs', count(nodes.length));
      set('time', time(estimate.prove_ms));
      set('memory', bytes(estimate.peak_bytes));
      set('disk', bytes(estimate.disk_bytes));
      map.show(nodes.map((node) => ({ ...node, state: 'waiting' })));
      put(security, securityTable(bits));
    },
    /** The job would be refused. */
    refused(why, error) {
      reason = why;
      text(status, why);
      status.className = 'small fault';
      for (const name of Object.keys(figures)) set(name, '–');
      // Figures of another job would mislead.
      put(security, error && !error.field && failure(error, 'The server would not take it', { role: 'group' }));
    },
  };
}
