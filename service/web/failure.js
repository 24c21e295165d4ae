// An error in words.

import { h } from './dom.js';
import { span } from './format.js';
import { sentence } from './words.js';

const HELP = {
  'queue-full': 'The queue is full.',
  busy: 'The server is busy.',
  'shutting-down': 'The server is shutting down.',
  'storage-unavailable': 'The records or proofs cannot be read or written at the moment.',
};

/** A note that says what went wrong, what helps, and how the logs name it. */
export function failure(error, title, { role = 'alert' } = {}) {
  const again = error.retryAfter && `Try again in ${span(error.retryAfter)}.`;
  return h('div', { class: 'note bad', role },
    h('h2', {}, title ?? error.title ?? 'Something went wrong'),
    HELP[error.kind] && h('p', {}, HELP[error.kind]),
    h('p', {}, error.message ? sentence(error.message) : 'No more is known.', again && ` ${again}`),
    error.requestId && h('p', { class: 'small soft' }, 'Request ', h('code', {}, error.requestId)));
}
