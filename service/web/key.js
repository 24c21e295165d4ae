// The API key, on servers that ask for one. It is kept for this tab only and sent to this server only.

import { h, put } from './dom.js';
import { field } from './fields.js';

const NAME = 'arbor-api-key';
const FORM = /^[\x21-\x7e]+$/;
let key = null;

try {
  key = sessionStorage.getItem(NAME);
} catch {
  // Storage is switched off: the key lasts as long as the page.
}

/** The header that shows the key; none without a key. */
export const keyHeader = () => (key ? { authorization: `Bearer ${key}` } : {});

export const hasKey = () => key !== null;

/** Uses another key, or none. */
export function setKey(value) {
  key = value;
  try {
    if (value === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, value);
  } catch {
    // As above.
  }
}

/** Asks for a key in the place of the view; `done` is called when there is one. */
export function askForKey(main, done) {
  const input = h('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const part = field('key', 'API key', input, { hint: 'arbor_…, as “arbor keys create” shows it' });
  const refused = hasKey();
  const form = h('form', { class: 'card stack key', novalidate: true }, part,
    h('p', { class: 'hint' }, 'It is kept for this tab only, until the tab is closed.'),
    h('button', { type: 'submit', class: 'primary' }, 'Use this key'));
  const say = (words) => {
    part.querySelector('.fault').textContent = words;
    if (words) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const value = input.value.trim();
    if (!FORM.test(value)) {
      say('A key has no spaces and only plain letters, digits and signs.');
      input.focus();
      return;
    }
    setKey(value);
    done();
  });
  put(main, h('div', { class: 'stack' },
    h('div', { class: 'head' }, h('div', {},
      h('h1', { tabindex: '-1' }, 'This server asks for an API key'),
      h('p', { class: 'soft' }, 'Whoever runs it makes keys.'))),
    form));
  if (refused) say('The key that was used is not known, or was revoked.');
}
