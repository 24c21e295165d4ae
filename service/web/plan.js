// What a job would take: the panel beside the form.

import { h, put, text } from './dom.js';
import { bytes, count, time } from './format.js';
import { failure } from './failure.js';
import { securityTable } from './security.js';
import { nodeNames, treeMap } from './tree.js';

/** The panel. Its parts are there from the beginning, so that nothing moves when the figures come. */
export function planPanel() {
  const figure = (label) => {
    const value = h('dd', {}, '–');
    return { value, part: h('div', {}, h('dt', {}, label), value) };
  };
  const figures = { proofs: figure('Proofs'), time: figure('Time, roughly'), memory: figure('Memory, roughly'), disk: figure('Disk') };
  const map = treeMap({ compact: true });
  const names = nodeNames();
  names.hidden = true;
  const status = h('p', { class: 'small soft', role: 'status' }, 'Checking …');
  const security = h('div', { class: 'security-slot' });
  const element = h('section', { class: 'card stack plan', tabindex: '0', 'aria-labelledby': 'plan-title' },
    h('header', {}, h('h2', { id: 'plan-title' }, 'What it takes'), status),
    h('dl', { class: 'facts big' }, Object.values(figures).map(({ part }) => part)),
    h('div', { class: 'tight' }, map.element, names),
    security);
  const set = (name, value) => text(figures[name].value, value);
  /** Figures of another job would mislead. */
  const clear = (why) => {
    text(status, why);
    status.className = 'small fault';
    for (const name of Object.keys(figures)) set(name, '–');
    map.show([]);
    names.hidden = true;
    put(security);
  };
  return {
    element,
    waiting() {
      text(status, 'Checking …');
      status.className = 'small soft';
    },
    /** The job can be proved here. Whether the queue and a quota have room is known when it is submitted. */
    show({ nodes, estimate, security: bits }) {
      text(status, 'It is within the limits of this server.');
      set('proofs', count(nodes.length));
      set('time', time(estimate.prove_ms));
      set('memory', bytes(estimate.peak_bytes));
      set('disk', bytes(estimate.disk_bytes));
      map.show(nodes.map((node) => ({ ...node, state: 'waiting' })));
      names.hidden = false;
      put(security, securityTable(bits));
    },
    /** Fields say themselves what is wrong with them. */
    mistaken(fields) {
      clear(fields === 1 ? 'A field needs another value.' : `${fields} fields need other values.`);
    },
    /** The job would be refused, and no field is to blame. */
    refused(error) {
      clear('There are no figures.');
      const note = failure(error, error.status === 403 ? 'This API key may not ask what a job takes' : 'The server would not take it', { role: 'group' });
      note.tabIndex = -1;
      put(security, note);
    },
  };
}
