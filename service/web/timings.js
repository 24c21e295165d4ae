// What proofs took: bars by phase, and the same as a table.

import { h, put } from './dom.js';
import { bytes, many, time } from './format.js';
import { byLevel } from './tree.js';
import { KINDS, NODE_STATES, PHASES, PHASE_HELP, PROVING } from './words.js';

/** More nodes than this are shown as the mean of their level. */
const MOST_BARS = 24;
const MOST_ROWS = 100;

/**
 * Groups of nodes that get one bar; those of two jobs that have the same `key` are at one place and of one kind. The nodes of
 * a chain or of a small tree, else the levels of a tree.
 */
export function groups(nodes) {
  const own = nodes.filter((node) => node.kind !== 'finished');
  const levels = byLevel(own);
  if (levels.every((level) => level.length === 1) || own.length <= MOST_BARS) {
    return own.map((node) => {
      const label = `${node.id} ${KINDS[node.kind] ?? node.kind}`;
      return { key: label, label, nodes: [node] };
    });
  }
  return levels.map((level) => {
    const number = level[0].id.split('/')[0];
    const what = many(level.length, 'proof');
    const kinds = [...new Set(level.map(({ kind }) => kind))].sort();
    return { key: `level ${number} ${kinds}`, label: `Level ${number}, ${level.length > 1 ? `mean of ${what}` : what}`, nodes: level };
  });
}

/** The mean times of the reports in a group; null if there is none yet. */
export function mean(group) {
  const reports = group.nodes.map((node) => node.report).filter(Boolean);
  if (reports.length === 0) return null;
  const names = [...PHASES, 'total'];
  return Object.fromEntries(names.map((name) => [name, reports.reduce((sum, report) => sum + report.timings_ms[name], 0) / reports.length]));
}

/** One bar of what proving took, `scale` milliseconds being its full length. */
export function bar(times, scale) {
  const track = h('div', { class: 'track' });
  if (!times) return track;
  const parts = PROVING.filter((name) => times[name] > 0);
  for (const name of parts) {
    const share = (100 * times[name]) / scale;
    // A part of a pixel or two has no room for an edge.
    const part = h('span', { class: share > 1 ? `${name} edged` : name, title: `${name}: ${time(times[name])}` });
    part.style.width = `${share}%`;
    track.append(part);
  }
  return track;
}

/** What the colours of the phases mean, and what the times are of. */
export const phaseLegend = () => h('div', { class: 'tight' },
  h('ul', { class: 'legend', 'aria-label': 'Phases' }, PROVING.map((name) => h('li', { title: PHASE_HELP[name] }, h('i', { class: name }), name))),
  h('p', { class: 'hint' }, 'Times are of proving alone, without preparing the circuit before it and checking the proof after it.'),
  h('details', { class: 'small' }, h('summary', {}, 'What the phases are'),
    h('dl', { class: 'words' }, PHASES.map((name) => [h('dt', {}, name), h('dd', {}, PHASE_HELP[name])]))));

/** The bars. They are for the eye: the table has every number. */
export function timingBars() {
  const bars = h('div', { class: 'bars', 'aria-hidden': 'true' });
  const element = h('div', {}, phaseLegend(), bars);
  return {
    element,
    show(nodes) {
      const rows = groups(nodes).map((group) => ({ label: group.label, times: mean(group) }));
      const scale = Math.max(1e-6, ...rows.map(({ times }) => (times ? times.total : 0)));
      put(bars, rows.map(({ label, times }) => [
        h('span', { class: 'what' }, label),
        bar(times, scale),
        h('span', { class: 'total' }, times ? time(times.total) : '–'),
      ]));
    },
  };
}

/** The table of nodes. `onDownload(id)` fetches a node's proof. */
export function nodeTable({ onDownload }) {
  const body = h('tbody');
  const more = h('button', { type: 'button', class: 'plain', hidden: true, onclick: () => { all = true; draw(); } });
  const heads = ['Node', 'Kind', 'State', 'Total', ...PHASES.map((name) => name[0].toUpperCase() + name.slice(1)), 'Size', 'Proof'];
  const element = h('div', {},
    h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Nodes with times by phase' },
      h('table', {},
        h('caption', {}, 'Total is what proving took, without preparing the circuit and without checking the proof.'),
        h('thead', {}, h('tr', {}, heads.map((name, i) => h('th', { scope: 'col', class: i > 2 && i < heads.length - 1 ? 'right' : null }, name)))),
        body)),
    more);
  let nodes = [];
  let all = false;
  const rows = new Map();
  const draw = () => {
    const shown = all ? nodes : nodes.slice(0, MOST_ROWS);
    more.hidden = shown.length === nodes.length;
    more.textContent = `Show all ${nodes.length} nodes`;
    for (const node of shown) {
      const state = `${node.state} ${node.hash} ${node.report?.timings_ms.total}`;
      const known = rows.get(node.id);
      if (known?.state === state) continue;
      const row = nodeRow(node, onDownload);
      if (known) known.row.replaceWith(row);
      else body.append(row);
      rows.set(node.id, { row, state });
    }
  };
  return {
    element,
    show(next) {
      nodes = next;
      draw();
    },
    /** Brings a node's row into view. */
    reveal(id) {
      if (!rows.has(id)) all = true;
      draw();
      const row = rows.get(id)?.row;
      row?.scrollIntoView({ block: 'center' });
      row?.querySelector('th').focus();
    },
  };
}

function nodeRow(node, onDownload) {
  const times = node.report?.timings_ms;
  const cell = (value) => h('td', { class: 'right' }, value);
  return h('tr', {},
    h('th', { scope: 'row', tabindex: '-1', class: 'mono' }, node.id),
    h('td', {}, KINDS[node.kind] ?? node.kind),
    h('td', {}, NODE_STATES[node.state] ?? node.state),
    cell(times ? time(times.total) : '–'),
    PHASES.map((name) => cell(times ? time(times[name]) : '–')),
    cell(bytes(node.bytes)),
    h('td', {}, node.state === 'done'
      ? h('button', { type: 'button', class: 'plain', 'aria-label': `Download the proof of node ${node.id}`, onclick: (event) => onDownload(node.id, event.currentTarget) }, 'Download')
      : '–'));
}
