// The events of a job, as the server sends them: read by hand, so that a stream that breaks goes on where it
// was, and the page knows whether it is connected.

import { ApiError, UNREACHABLE, paths, send, tell } from './api.js';
import { pause } from './dom.js';
import { parse } from './json.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Calls `onEvent({id, kind, data})` for every event after `after`, and `onConnection(up, error)` when that
 * changes. Ends when the server says that the job has ended and everything was sent, or when the signal aborts.
 */
export async function follow(id, { after = 0, signal, onEvent, onConnection }) {
  let wait = FIRST_PAUSE_MS;
  let last = after;
  for (;;) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': String(last) };
      const response = await send('GET', paths.events(id), { headers, signal });
      if (response.status === 204) return last;
      onConnection(true);
      for await (const event of read(response.body)) {
        last = event.id;
        wait = FIRST_PAUSE_MS;
        onEvent(event);
      }
      // The end of the stream is the end of the job or of the server: 204 tells which.
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
      tell(UNREACHABLE);
      onConnection(false, error);
      wait = Math.min(LONGEST_PAUSE_MS, wait * 2);
    }
    await pause(wait, signal);
  }
}

/** The events in a stream of bytes. Lines that only keep the connection alive are skipped. */
async function* read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event) yield event;
    }
  }
}

function parseBlock(block) {
  const fields = {};
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
  }
  return fields.data === undefined ? null : { id: Number(fields.id), kind: fields.event, data: parse(fields.data) };
}
