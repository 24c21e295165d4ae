// The view that has a proof file verified by the server.

import { getCapabilities, verifyFile } from './api.js';
import { announce, h, put, text } from './dom.js';
import { failure } from './failure.js';
import { bytes, time } from './format.js';
import { securityTable } from './security.js';
import { statementView } from './statement.js';
import { sentence } from './words.js';

export const title = 'Verify a proof';

export async function show(main, _parameters, signal) {
  const { limits, proof_format: format } = await getCapabilities(signal);
  const most = limits.max_verification_bytes;
  const out = h('div', { class: 'stack', 'aria-live': 'polite' });
  const name = h('span', {}, `or choose one, at most ${bytes(most)}`);
  const input = h('input', { type: 'file', class: 'unseen', id: 'proof-file' });
  const drop = h('label', { class: 'drop', for: 'proof-file' }, input, h('strong', {}, 'Drop a proof file here'), name);

  let round = 0;
  const take = async (file) => {
    if (!file) return;
    round += 1;
    const mine = round;
    text(name, `${file.name}, ${bytes(file.size)}`);
    if (file.size > most) {
      put(out, failure({ message: `It has ${bytes(file.size)}; this server reads at most ${bytes(most)}.` }, 'The file is too large', { role: 'group' }));
      return;
    }
    put(out, h('p', { class: 'note' }, 'Verifying …'));
    try {
      const verdict = await verifyFile(file, signal);
      if (mine === round) put(out, verdictView(verdict, file.name, format));
    } catch (error) {
      if (!signal.aborted && mine === round) put(out, failure(error, 'There is no verdict', { role: 'group' }));
    }
  };
  input.addEventListener('change', () => {
    take(input.files[0]);
    // The same file again is a change, too.
    input.value = '';
  });
  const over = (is) => (event) => {
    event.preventDefault();
    drop.classList.toggle('over', is);
  };
  drop.addEventListener('dragenter', over(true));
  drop.addEventListener('dragover', over(true));
  drop.addEventListener('dragleave', over(false));
  drop.addEventListener('drop', (event) => {
    over(false)(event);
    if (event.dataTransfer.files.length > 1) announce('Only the first file is verified.');
    take(event.dataTransfer.files[0]);
  });
  put(main, h('div', { class: 'stack' },
    h('div', { class: 'head' }, h('div', {},
      h('h1', { tabindex: '-1' }, 'Verify a proof'),
      h('p', { class: 'soft' }, 'The file goes to this server and nowhere else. Nothing but the file is needed: the keys are derived from its parameters.'))),
    drop, out));
}

const VERDICTS = {
  valid: ['good', '✓', 'The proof is valid'],
  invalid: ['bad', '✕', 'The proof is not valid'],
  weak: ['warn', '!', 'Too weak to be accepted: nobody looked whether it is valid'],
  foreign: ['warn', '?', 'This is no proof file that can be read'],
};

function verdictView(verdict, name, format) {
  const [kind, sign, words] = VERDICTS[verdict.class] ?? VERDICTS[verdict.valid ? 'valid' : 'invalid'];
  return [
    h('section', { class: `card stack verdict-card ${verdict.class}`, 'aria-labelledby': 'verdict' },
      h('div', { class: `verdict ${kind}` },
        h('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
        h('div', {}, h('h2', { id: 'verdict' }, words), h('p', { class: 'soft small' }, `${name}, ${bytes(verdict.bytes)}`))),
      verdict.reason && h('div', { class: `note ${kind}` }, h('p', {}, sentence(verdict.reason)),
        verdict.class === 'foreign' && h('p', { class: 'small' }, `This server reads proof format ${format}.`)),
      verdict.statement && h('div', { class: 'tight' }, h('h3', {}, 'What it says'), statementView(verdict.statement))),
    verdict.security && h('section', { class: 'card stack', 'aria-labelledby': 'bits' }, h('h2', { id: 'bits' }, 'How secure it is'), securityTable(verdict.security)),
    verdict.valid && h('section', { class: 'card stack', 'aria-label': 'Details' },
      h('dl', { class: 'facts' },
        fact('Verified in', time(verdict.verify_ms)), fact('Keys derived in', time(verdict.derive_ms)), fact('Verifying keys', String(verdict.keys.length))),
      h('details', {}, h('summary', {}, 'Digests'),
        h('p', { class: 'small soft' }, 'Of the whole statement'), h('p', { class: 'mono digest' }, verdict.node_digest),
        h('p', { class: 'small soft' }, 'Of the verifying keys, the base first'),
        h('ol', { class: 'mono', start: '0' }, verdict.keys.map((key) => h('li', { class: 'digest' }, key))))),
  ];
}

const fact = (label, value) => h('div', {}, h('dt', {}, label), h('dd', {}, value));
