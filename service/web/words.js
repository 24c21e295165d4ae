// What states, phases and errors are called.

import { count, many } from './format.js';

export const STATES = {
  queued: 'Queued',
  running: 'Running',
  cancelling: 'Cancelling',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
  expired: 'Expired',
};
export const isFinal = (state) => ['succeeded', 'failed', 'cancelled', 'expired'].includes(state);

export const NODE_STATES = { waiting: 'waiting', ready: 'ready', running: 'being proved', done: 'done', failed: 'failed' };
export const DELIVERY_STATES = { delivered: 'delivered', pending: 'to be sent', abandoned: 'given up' };
export const KINDS = { base: 'base proof', layer: 'layer', merge: 'merge', finished: 'finished job' };

/** Phases of proving in their order, as in the reports. */
export const PROVING = ['restore', 'fill', 'commit', 'logup', 'quotient', 'open'];
/** The same with what comes before and after it. */
export const PHASES = ['prepare', ...PROVING, 'verify'];
/** What is done in a phase. */
export const PHASE_HELP = {
  prepare: 'The circuit is built and its fixed columns are committed to. Nothing if it is known from before.',
  restore: 'The proofs below are checked and their Merkle paths, which are stored in short, are written out.',
  fill: 'The tables are filled with every step of the computation, or of verifying the proofs below.',
  commit: 'The tables are extended and hashed into a Merkle tree.',
  logup: 'The lookups: columns are added that show that whatever one table asks of another is there.',
  quotient: 'The constraints of all tables become one polynomial, which exists only if all of them hold.',
  open: 'All columns are evaluated at a random point, and FRI shows that they are polynomials of low degree.',
  verify: 'The new proof is checked before it is stored.',
};
export const PHASE_WORDS = {
  plan: 'planning',
  start: 'starting',
  prepare: 'preparing the circuit',
  restore: 'restoring Merkle paths',
  fill: 'filling tables',
  commit: 'committing',
  logup: 'lookups',
  quotient: 'quotient',
  open: 'opening',
  verify: 'checking the proof',
};

const CLASSES = {
  parameters: 'The parameters turned out to be impossible.',
  resources: 'Memory, disk or another resource was short.',
  storage: 'The proof store could not be read or written.',
  crashed: 'The server died too often on one node.',
  deadline: 'The deadline passed before the proof was there.',
  internal: 'An error of the server. Its log says more.',
};
export const errorClass = (name) => CLASSES[name] ?? 'The job failed.';

function program(base) {
  if (!base) return 'Proofs of other jobs';
  return base.program === 'keccak'
    ? `Keccak, ${many(base.num_hashes, 'permutation')}`
    : `Fibonacci, n = ${count(base.n)}`;
}

function shape(recursion) {
  if (recursion.mode === 'chain') {
    return recursion.layers === 0 ? 'base proof only' : `chain of ${many(recursion.layers, 'layer')}`;
  }
  const leaves = recursion.leaves?.length ?? recursion.arity ** recursion.depth;
  return `${recursion.arity}-to-1 tree of ${many(leaves, 'leaf', 'leaves')}`;
}

/** Words as a sentence. */
export const sentence = (words) => words[0].toUpperCase() + words.slice(1) + (/[.!?]$/.test(words) ? '' : '.');

/** A job in a few words. */
export const jobTitle = (job) => `${program(job.base)} · ${shape(job.recursion)}`;

/** What is being done, in words. */
export function phaseText(phase) {
  if (!phase) return '';
  const what = PHASE_WORDS[phase.name] ?? phase.name;
  return phase.node ? `node ${phase.node}: ${what}` : what;
}

const superscript = (value) => [...String(value)].map((digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]).join('');

/** What a proof says, one fact a line. A tree gives its leaves apart; a leaf without layers needs no word on them. */
export function statementLines(statement, leaf = false) {
  if (statement.leaves) {
    const padding = statement.padding.length;
    const lines = [`A tree over ${many(statement.leaves.length, 'leaf', 'leaves')}, ${statement.arity} proofs to a node.`];
    if (padding) lines.push(`${many(padding, 'slot')} of its nodes ${padding === 1 ? 'is' : 'are'} padding and no leaf.`);
    return lines;
  }
  const { base, layers } = statement;
  const lines = base.program === 'keccak'
    ? [
        `A table of 2${superscript(base.log_rows)} rows of Keccak-f permutations was computed rightly: at most ${count(base.max_permutations)} of them. Their inputs are not bound by the proof.`,
        `Claimed by the prover, not proved: ${many(base.claimed.num_hashes, 'permutation')} of inputs from seed ${base.claimed.seed}.`,
      ]
    : [`F(${count(base.n)}) = ${count(base.result)} modulo p = 2³¹ − 2²⁴ + 1, where F(0) = ${count(base.a)} and F(1) = ${count(base.b)}.`];
  if (leaf && layers === 0) return lines;
  lines.push(layers === 0 ? 'No recursion: this is the base proof.' : `Proved through a chain of ${many(layers, 'layer')}.`);
  return lines;
}
