// Bits of security: never one number alone, each with what it is argued from and what binds it.

import { h } from './dom.js';
import { many } from './format.js';

const KINDS = [
  ['proven', 'Proven', 'by theorems'],
  ['conjectured', 'Conjectured', 'with the random-words heuristic'],
  ['naive', 'Naive count', 'log₂ of the blowup × queries + grinding; its conjecture was refuted'],
];
/** Theorems that a proven figure can come from. */
const REGIMES = { unique_decoding: 'unique decoding', johnson: 'Johnson radius' };
/** What verifiers ask for unless they are told otherwise. */
const MIN_PROVEN_BITS = 60;
const TERMS = {
  constraints: 'constraint batching',
  out_of_domain: 'the out-of-domain point',
  lookup: 'the lookups',
  batching: 'batching of the openings',
  folding: 'FRI folding',
  queries: 'FRI queries',
  hash: 'hash collisions',
};

const word = (words, name) => words[name] ?? String(name).replaceAll('_', ' ');

/** The figures as a table. `security` is what the server says; figures that it does not give are left out. */
export function securityTable(security, caption = 'Bits of security') {
  const figures = KINDS.map(([name, label, what]) => [label, what, figure(security, name)]).filter(([, , found]) => found);
  if (figures.length === 0) return h('p', { class: 'soft' }, 'The server gives no figures.');
  return h('div', { class: 'stack' },
    h('table', { class: 'bits' },
      h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'Security'), h('th', { scope: 'col', class: 'right' }, 'Bits'), h('th', { scope: 'col' }, 'Bound by'))),
      h('tbody', {}, figures.map(([label, what, { bits, regime, term, layer }]) =>
        h('tr', {},
          h('th', { scope: 'row' }, label, h('div', { class: 'hint' }, what)),
          h('td', { class: 'right' }, h('strong', {}, bits)),
          h('td', {}, `${word(TERMS, term)} of ${layer === 'base' ? 'the base' : layer}`, regime in REGIMES && h('div', { class: 'hint' }, REGIMES[regime])))))),
    security.proven?.bits < MIN_PROVEN_BITS && h('p', { class: 'note warn' },
      `Below ${MIN_PROVEN_BITS} proven bits, verifiers refuse a proof unless they are told otherwise.`),
    security.layers && perLayer(security.layers));
}

function figure(security, name) {
  const found = security?.[name];
  return found ? { ...found, bits: found.bits.toFixed(1) } : null;
}

function perLayer(layers) {
  if (layers.length < 2) return null;
  const bits = (found) => found.bits.toFixed(1);
  return h('details', {},
    h('summary', {}, `Of ${many(layers.length, 'circuit')}`),
    h('p', { class: 'hint' }, 'A circuit is what a proof verifies or computes. Proofs of one circuit have the same figures, so that there can be fewer circuits than proofs.'),
    h('table', {},
      h('caption', { class: 'unseen' }, 'Bits of security of each distinct circuit'),
      h('thead', {}, h('tr', {}, ['Circuit', 'Proven', 'Conj.', 'Naive'].map((name, i) => h('th', { scope: 'col', class: i ? 'right' : null }, name)))),
      h('tbody', {}, layers.map((layer) => h('tr', {},
        h('th', { scope: 'row' }, layer.layer, layer.proofs > 1 && h('div', { class: 'hint' }, `and ${many(layer.proofs - 1, 'more proof')} like it`)),
        [layer.proven, layer.conjectured, layer.naive].map((found) => h('td', { class: 'right' }, bits(found))))))));
}
