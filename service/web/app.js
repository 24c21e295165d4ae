// Which view is shown, and what is the same in all of them.

import { UNAUTHORIZED, UNREACHABLE, getCapabilities, readiness, signs } from './api.js';
import { h, pause, put, text } from './dom.js';
import { failure } from './failure.js';
import { askForKey, hasKey, setKey } from './key.js';
import * as compare from './compare.js';
import * as job from './job.js';
import * as jobs from './jobs.js';
import * as fresh from './new.js';
import * as verify from './verify.js';

const main = document.getElementById('main');
let leave = new AbortController();
let first = true;
/** Whether the view could not be shown because the server was not there. */
let missed = false;
/** Whether the key form stands in the place of the view. */
let asking = false;

/** The view and its parameters that an address names. */
function route(hash) {
  const [path, query] = hash.replace(/^#\/?/, '').split('?');
  const [view, ...rest] = path.split('/').map(decodeURIComponent);
  if (view === 'jobs' && rest[0]) return ['jobs', job, rest];
  if (view === 'new') return ['new', fresh, rest];
  if (view === 'compare') return ['compare', compare, rest.map((id) => (id === '-' ? '' : id))];
  if (view === 'verify') return ['verify', verify, rest];
  if (view === 'jobs' || view === '') return ['jobs', jobs, [query ?? '']];
  return [null, null, rest];
}

async function go() {
  leave.abort(new DOMException('another view is shown', 'AbortError'));
  leave = new AbortController();
  const { signal } = leave;
  [missed, asking] = [false, false];
  let [name, view, parameters] = [null, null, []];
  try {
    [name, view, parameters] = route(location.hash);
  } catch {
    // An address that cannot be decoded names no view.
  }
  for (const link of document.querySelectorAll('nav a')) {
    if (link.dataset.view === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  main.setAttribute('aria-busy', 'true');
  try {
    if (view) await view.show(main, parameters, signal);
    else put(main, h('h1', { tabindex: '-1' }, 'There is no such view'), h('p', {}, h('a', { href: '#/jobs' }, 'To the jobs')));
  } catch (error) {
    if (signal.aborted) return;
    notShown(error);
  }
  arrive(signal, view, parameters);
}

/** Whatever asked without a valid key, and whenever: the form for another one takes the place of the view. */
function needKey() {
  if (asking) return;
  leave.abort(new DOMException('a key is needed', 'AbortError'));
  leave = new AbortController();
  asking = true;
  askForKey(main, entered);
  arrive(leave.signal, { title: 'API key' }, []);
}

/** A key was entered: everything is asked for again. */
function entered() {
  go();
  showVersion();
}

function notShown(error) {
  // What is no answer of the server is a mistake of the page.
  if (!error.kind) console.error(error);
  missed = error.kind === UNREACHABLE || error.status >= 500;
  put(main, h('div', { class: 'stack' }, h('h1', { tabindex: '-1' }, 'This cannot be shown'), failure(error),
    h('p', { class: 'row' }, h('button', { type: 'button', onclick: go }, 'Try again'), h('a', { href: '#/jobs' }, 'To the jobs'))));
}

/** The view is there: its title, its heading, its top. */
function arrive(signal, view, parameters) {
  if (signal.aborted) return;
  main.removeAttribute('aria-busy');
  const words = view ? (typeof view.title === 'function' ? view.title(parameters) : view.title) : 'No such view';
  document.title = `${words} · Arbor`;
  document.getElementById('forget').hidden = !hasKey();
  window.scrollTo(0, 0);
  // A reader hears the new heading; on the first view the page begins at its top.
  if (!first) main.querySelector('h1')?.focus();
  first = false;
}

/**
 * Says in the head of the page whether the server takes jobs. It looks at once when a request was not answered,
 * and a view that could not be shown meanwhile is shown when the server is there again.
 */
async function watchHealth() {
  const place = document.getElementById('health');
  let up = true;
  for (;;) {
    let state;
    try {
      state = await readiness();
    } catch {
      state = { ready: false, reasons: ['the server cannot be reached'] };
    }
    place.className = `health ${state.ready ? 'good' : 'bad'}`;
    text(place, state.ready ? 'Ready' : `Not ready: ${state.reasons.join('; ')}`);
    if (state.ready && !up && missed) go();
    up = state.ready;
    const look = new AbortController();
    const now = () => look.abort();
    // While it is down nothing is gained by looking more often.
    if (up) signs.addEventListener(UNREACHABLE, now, { once: true });
    await pause(up ? 15_000 : 3000, look.signal).catch(() => {});
    signs.removeEventListener(UNREACHABLE, now);
  }
}

async function showVersion() {
  try {
    const { version, commit, plonky3, proof_format: format, threads } = await getCapabilities();
    text(document.getElementById('version'), `Arbor ${version} (${commit}) · proof format ${format} · Plonky3 ${plonky3} · ${threads} threads`);
  } catch {
    // The head of the page says that the server cannot be reached.
  }
}

document.getElementById('skip').addEventListener('click', (event) => {
  // The address of the page is the view: it must not change.
  event.preventDefault();
  main.focus();
});
document.getElementById('forget').addEventListener('click', () => {
  setKey(null);
  go();
});
window.addEventListener('hashchange', go);
signs.addEventListener(UNAUTHORIZED, needKey);
go();
watchHealth();
showVersion();
