// The nodes of a job as a picture: a chain in lines, a tree level by level with the root on top. It is a
// picture only; everything in it, and more, is in the table of nodes.

import { h, s } from './dom.js';
import { many } from './format.js';
import { KINDS, NODE_STATES } from './words.js';

const GAP = 8;
const TALLEST = 34;
const WIDEST = 76;
const LEAST = 7;
/** Room for the names of levels, where the picture is wide enough for them. */
const LABELS = 84;
const ROOM_FOR_LABELS = 560;

/** The picture. `show(nodes)` draws nodes with `id`, `kind`, `state`, `children`; `onPick(id)` tells of a click. */
export function treeMap({ compact = false, onPick } = {}) {
  const svg = s('svg', { class: 'map', role: 'img', 'aria-label': 'No nodes yet', height: 28 });
  const element = h('div', { class: compact ? 'map-box compact' : 'map-box' }, svg);
  let nodes = [];
  let drawn = null;
  const empty = () => {
    drawn = null;
    svg.replaceChildren();
    svg.removeAttribute('viewBox');
    svg.setAttribute('height', 28);
    svg.setAttribute('aria-label', 'No nodes yet');
  };
  const draw = () => {
    const width = element.clientWidth;
    if (!width) return;
    if (nodes.length === 0) return empty();
    const same = drawn && drawn.width === width && drawn.cells.size === nodes.length && nodes.every(({ id }) => drawn.cells.has(id));
    if (!same) drawn = layOut(svg, nodes, width, compact, onPick);
    let changed = !same;
    for (const node of nodes) changed = paint(drawn.cells.get(node.id), node) || changed;
    if (changed) svg.setAttribute('aria-label', summary(nodes, drawn.levels));
  };
  new ResizeObserver(draw).observe(element);
  return {
    element,
    show(next) {
      nodes = next;
      draw();
    },
  };
}

const levelOf = (id) => Number(id.split('/')[0]);

/** Nodes by level, leaves first. */
export function byLevel(nodes) {
  const levels = [];
  for (const node of nodes) (levels[levelOf(node.id)] ??= []).push(node);
  return levels.filter(Boolean);
}

function summary(nodes, levels) {
  const states = Object.keys(NODE_STATES)
    .map((state) => [state, nodes.filter((node) => node.state === state).length])
    .filter(([, found]) => found)
    .map(([state, found]) => `${found} ${NODE_STATES[state]}`);
  return `${many(nodes.length, 'node')} in ${many(levels, 'level')}: ${states.join(', ')}`;
}

/** A chain: the base first, as many on a line as fit. */
function chain(nodes, width, compact) {
  const w = compact ? 44 : WIDEST;
  const h0 = compact ? 26 : TALLEST;
  const gap = compact ? 14 : 20;
  const perLine = Math.max(1, Math.floor((width + gap) / (w + gap)));
  const cells = new Map();
  nodes.forEach((node, i) => {
    cells.set(node.id, { node, x: (i % perLine) * (w + gap), y: Math.floor(i / perLine) * (h0 + 14) + 1, w, h: h0 });
  });
  const wires = nodes.slice(1).flatMap((node, i) => {
    const [from, to] = [cells.get(nodes[i].id), cells.get(node.id)];
    if (from.y !== to.y) return [];
    return [{ d: `M${from.x + w} ${from.y + h0 / 2}H${to.x}`, from: from.node.id }];
  });
  return { cells, wires, labels: [], height: Math.ceil(nodes.length / perLine) * (h0 + 14) - 12 };
}

/** A tree: every level over the whole width; a level too wide for that becomes a block without wires. */
function tree(levels, full, compact) {
  const cells = new Map();
  const labels = [];
  let y = 1;
  const h0 = compact ? 18 : 26;
  const left = !compact && full > ROOM_FOR_LABELS ? LABELS : 0;
  const width = full - left;
  for (const [i, level] of [...levels.entries()].reverse()) {
    if (left) labels.push({ text: levelName(i, levels, level), y: y + h0 / 2 });
    const pitch = width / level.length;
    if (pitch >= LEAST + 2) {
      const gap = Math.min(GAP, pitch / 4);
      const w = Math.min(WIDEST, pitch - gap);
      level.forEach((node, j) => cells.set(node.id, { node, x: left + pitch * (j + 0.5) - w / 2, y, w, h: h0, wired: true }));
      y += h0 + (compact ? 16 : 26);
    } else {
      const side = LEAST + 3;
      const perLine = Math.floor(width / (side + 2));
      level.forEach((node, j) => cells.set(node.id, {
        node, x: left + (j % perLine) * (side + 2), y: y + Math.floor(j / perLine) * (side + 2), w: side, h: side, wired: false,
      }));
      y += Math.ceil(level.length / perLine) * (side + 2) + 16;
    }
  }
  const wires = [...cells.values()].flatMap((parent) => (parent.node.children ?? []).map((id) => {
    const child = cells.get(id);
    if (!child?.wired || !parent.wired) return null;
    const [x1, y1, x2, y2] = [parent.x + parent.w / 2, parent.y + parent.h, child.x + child.w / 2, child.y];
    const middle = (y1 + y2) / 2;
    return { d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`, from: id };
  }).filter(Boolean));
  return { cells, wires, labels, height: y - (compact ? 14 : 24) };
}

function levelName(i, levels, level) {
  if (i === levels.length - 1) return 'root';
  if (i === 0) return many(level.length, 'leaf', 'leaves');
  return many(level.length, 'proof');
}

/** Puts everything in its place. What depends on states is painted afterwards, node by node. */
function layOut(svg, nodes, width, compact, onPick) {
  const levels = byLevel(nodes);
  const place = levels.every((level) => level.length === 1) ? chain(nodes, width, compact) : tree(levels, width, compact);
  const cells = new Map([...place.cells].map(([id, cell]) => [id, box(cell, onPick)]));
  const wires = place.wires.map(({ d, from }) => {
    const wire = s('path', { class: 'wire', d });
    cells.get(from).wires.push(wire);
    return wire;
  });
  svg.setAttribute('viewBox', `-1 0 ${width + 2} ${place.height}`);
  svg.setAttribute('height', place.height);
  svg.replaceChildren(
    ...wires,
    ...place.labels.map((label) => s('text', { class: 'level', x: 0, y: label.y }, label.text)),
    ...[...cells.values()].map(({ group }) => group),
  );
  return { width, cells, levels: levels.length };
}

function box({ node, x, y, w, h: height }, onPick) {
  const { id } = node;
  const title = s('title');
  const text = w >= 34 ? s('text', { x: x + w / 2, y: y + height / 2 }, id) : null;
  const cross = w < 34 && s('path', { class: 'cross', d: `M${x + 2} ${y + 2}l${w - 4} ${height - 4}m0 ${4 - height}l${4 - w} ${height - 4}` });
  const group = s('g', { class: 'node', onclick: onPick && (() => onPick(id)) },
    title, s('rect', { class: 'cell', x, y, width: w, height, rx: Math.min(5, w / 4) }), text, cross);
  return { group, title, text, roomy: w >= 60, wires: [], state: null };
}

/** Shows the state of a node. True if it is another one than before. */
function paint(cell, { id, kind, state }) {
  if (cell.state === state) return false;
  cell.state = state;
  cell.group.setAttribute('class', `node ${state}`);
  cell.title.textContent = `${id}: ${KINDS[kind] ?? kind}, ${NODE_STATES[state] ?? state}`;
  if (cell.text) cell.text.textContent = state === 'done' && cell.roomy ? `${id} ✓` : id;
  for (const wire of cell.wires) wire.setAttribute('class', state === 'done' ? 'wire done' : 'wire');
  return true;
}

/** What the colours mean. */
export const treeLegend = () =>
  h('ul', { class: 'legend', 'aria-label': 'Legend' },
    [['waiting', 'waiting'], ['running', 'being proved'], ['done', 'done'], ['failed', 'failed']].map(([state, label]) =>
      h('li', {}, h('i', { class: `box ${state}` }), label)));

/** What the names of nodes mean. */
export const nodeNames = () =>
  h('p', { class: 'hint' }, 'A node is one proof, named level/index: 0/0 is the first of the base proofs or leaves, 1/0 the first proof over them, and the highest is the root.');
