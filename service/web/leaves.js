// Leaves of a tree that are not all made from one base: one a line, read into a job and written from one.

import { FieldError } from './fields.js';

export const FIELD = 'recursion.leaves';
export const HINT = 'one a line: keccak 100 seed 1, fibonacci 1000 a 0 b 1, or job and the id of a finished one';

/** What a line may say after the program: the first number is `first`, the others have their name in front. */
const PROGRAMS = {
  keccak: { first: 'num_hashes', others: ['seed'] },
  fibonacci: { first: 'n', others: ['a', 'b'] },
};

/** The leaves of the text. Empty lines are passed over. */
export function readLeaves(text) {
  const leaves = text.split('\n').map((line) => line.trim()).filter(Boolean).map(readLine);
  if (leaves.length === 0) throw new FieldError(FIELD, 'At least one leaf is needed here.');
  return leaves;
}

function readLine(line, at) {
  const wrong = (why) => new FieldError(FIELD, `Leaf ${at + 1}, “${line}”: ${why}`);
  const [kind, ...words] = line.split(/[\s,]+/);
  if (kind === 'job') {
    if (words.length !== 1) throw wrong('after “job” comes one id.');
    return { job: words[0] };
  }
  const program = PROGRAMS[kind];
  if (!program) throw wrong('a leaf begins with “keccak”, “fibonacci” or “job”.');
  const leaf = { program: kind };
  const named = /^\d/.test(words[0] ?? '') ? [program.first, ...words] : words;
  for (let i = 0; i < named.length; i += 2) {
    const [name, value] = [named[i], named[i + 1]];
    if (![program.first, ...program.others].includes(name)) throw wrong(`“${name}” is not known; ${program.others.map((other) => `“${other}”`).join(' and ')} may follow the number.`);
    if (name in leaf) throw wrong(`“${name}” is there twice.`);
    if (!/^\d{1,20}$/.test(value ?? '')) throw wrong(`after “${name}” comes a whole number.`);
    leaf[name] = Number.isSafeInteger(Number(value)) ? Number(value) : BigInt(value);
  }
  return leaf;
}

/** The text of leaves, without FRI parameters: the form has these elsewhere. */
export function writeLeaves(leaves) {
  return leaves.map((leaf) => {
    if (leaf.job !== undefined) return `job ${leaf.job}`;
    const { first, others } = PROGRAMS[leaf.program];
    const rest = others.filter((name) => leaf[name] !== undefined).map((name) => `${name} ${leaf[name]}`);
    return [leaf.program, leaf[first] ?? '', ...rest].filter((word) => word !== '').join(' ');
  }).join('\n');
}
