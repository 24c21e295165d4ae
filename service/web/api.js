// Requests to the server that this page comes from. Every failure is an ApiError with words to show.

import { parse, write } from './json.js';
import { keyHeader } from './key.js';

/** Why a request failed: `kind` as in the problem's type, `field` if one is to blame, `requestId` for the logs. */
export class ApiError extends Error {
  constructor({ title, detail, kind, status, field, requestId, retryAfter }) {
    super(detail || title);
    Object.assign(this, { title, detail, kind, status, field, requestId, retryAfter });
  }
}

/** Heard by whoever watches over the page: the server did not answer, or it does not know the API key. */
export const signs = new EventTarget();
export const UNREACHABLE = 'unreachable';
export const UNAUTHORIZED = 'unauthorized';
export const tell = (sign) => signs.dispatchEvent(new Event(sign));

/** Sends a request and gives the response; anything but success is thrown. */
export async function send(method, path, { body, headers, signal } = {}) {
  let response;
  try {
    response = await fetch(path, { method, body, headers: { ...headers, ...keyHeader() }, signal, cache: 'no-cache' });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    tell(UNREACHABLE);
    throw new ApiError({
      kind: 'unreachable',
      title: 'The server cannot be reached',
      detail: 'There was no answer. Is the server still running, and is the network up?',
      cause: error,
    });
  }
  if (response.ok || response.status === 304) return response;
  const error = await problem(response);
  if (error.status === 401 && !signal?.aborted) tell(UNAUTHORIZED);
  throw error;
}

async function problem(response) {
  const known = { status: response.status, retryAfter: Number(response.headers.get('retry-after')) || undefined };
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/problem+json')) {
    try {
      const body = parse(await response.text());
      return new ApiError({
        ...known,
        title: body.title,
        detail: body.detail,
        field: body.field,
        kind: String(body.type ?? '').split('/').pop(),
        requestId: body.request_id,
      });
    } catch {
      // Broken off or not what it says: the status is all there is.
    }
  }
  return new ApiError({ ...known, kind: 'unknown', title: `The server answered ${response.status}`, detail: response.statusText });
}

/** Sends a request and reads the JSON of its answer; null if there is none. */
export async function call(method, path, { json, ...options } = {}) {
  if (json !== undefined) {
    options.body = write(json);
    options.headers = { ...options.headers, 'content-type': 'application/json' };
  }
  const response = await send(method, path, options);
  const source = await response.text();
  return source ? parse(source) : null;
}

const job = (id) => `/v1/jobs/${encodeURIComponent(id)}`;

/** Paths of a job's parts. */
export const paths = {
  events: (id) => `${job(id)}/events`,
  proof: (id, node) => (node ? `${job(id)}/proof/${node}` : `${job(id)}/proof`),
  timingsCsv: (id) => `${job(id)}/timings?format=csv`,
};

export const getJob = (id, signal) => call('GET', job(id), { signal });
export const getTree = (id, signal) => call('GET', `${job(id)}/tree`, { signal });
export const getDeliveries = (id, signal) => call('GET', `${job(id)}/webhooks`, { signal });
export const getTimings = (id, signal) => call('GET', `${job(id)}/timings`, { signal });
export const getPresets = (signal) => call('GET', '/v1/presets', { signal });
export const getCapabilities = (signal) => call('GET', '/v1/capabilities', { signal });
export const retryJob = (id) => call('POST', `${job(id)}/retry`);
export const validate = (body, signal) => call('POST', '/v1/jobs:validate', { json: body, signal });

/** Submits a job. The same `key` again gives the same job: a click that is sent twice makes one. */
export const submit = (body, key) => call('POST', '/v1/jobs', { json: body, headers: { 'idempotency-key': key } });

/** Cancels a live job or removes a finished one. */
export const deleteJob = (id) => call('DELETE', job(id));

/** A page of jobs, newest first. */
export function listJobs({ states = [], cursor, limit = 25 }, signal) {
  const query = new URLSearchParams({ limit });
  for (const state of states) query.append('state', state);
  if (cursor) query.set('cursor', cursor);
  return call('GET', `/v1/jobs?${query}`, { signal });
}

/** Has a file verified. */
export const verifyFile = (file, signal) =>
  call('POST', '/v1/verifications', { body: file, headers: { 'content-type': 'application/octet-stream' }, signal });

/** Whether the server takes jobs, and why not. */
export async function readiness(signal) {
  const response = await fetch('/readyz', { signal, cache: 'no-store' });
  if (response.ok) return { ready: true, reasons: [] };
  const body = await response.json().catch(() => ({}));
  return { ready: false, reasons: body.reasons ?? [body.detail ?? `status ${response.status}`] };
}

/** Fetches a file and hands it to the browser to be kept. */
export async function download(path, name) {
  const blob = await (await send('GET', path)).blob();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
