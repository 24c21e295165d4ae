// What a proof says.

import { h } from './dom.js';
import { many } from './format.js';
import { statementLines } from './words.js';

const MOST_LEAVES = 8;

/** A statement in words; the leaves of a tree in a list that folds when it is long. */
export function statementView(statement, leaf = false) {
  const lines = h('ul', { class: 'lines' }, statementLines(statement, leaf).map((line) => h('li', {}, line)));
  if (!statement.leaves) return lines;
  const leaves = h('ol', { start: '0', class: 'tight' }, statement.leaves.map((leaf) => h('li', {}, statementView(leaf.statement, true))));
  return h('div', { class: 'tight' }, lines,
    h('details', { open: statement.leaves.length <= MOST_LEAVES }, h('summary', {}, many(statement.leaves.length, 'leaf', 'leaves')), leaves));
}
