// How the messages about a job fared.

import { getDeliveries } from './api.js';
import { h, pause, put, text } from './dom.js';
import { count, many, moment } from './format.js';
import { DELIVERY_STATES } from './words.js';

const EVERY_MS = 5000;

export class Deliveries {
  /** Draws into `told`, a line with a hint below, and into the list `messages`. */
  constructor(id, webhook, { told, messages }, signal) {
    Object.assign(this, { id, webhook, told, messages, signal, watching: false });
  }

  /** Messages come after the end of the job, and again when the receiver does not take them. */
  async watch(jobIsOver) {
    if (this.watching) return;
    this.watching = true;
    try {
      // What is not known now is known at the next look.
      while (!await this.look(jobIsOver).catch(() => false)) await pause(EVERY_MS, this.signal);
    } catch {
      // The view is left.
    }
    this.watching = false;
  }

  /** Whether no message is to come any more. */
  async look(jobIsOver) {
    const over = jobIsOver();
    const { deliveries } = await getDeliveries(this.id, this.signal);
    this.draw(deliveries);
    return over && deliveries.every(({ state }) => state !== 'pending');
  }

  /** In a word or two, and each for itself. */
  draw(deliveries) {
    const { told, messages } = this;
    const { url, events } = this.webhook;
    const found = Object.keys(DELIVERY_STATES).map((state) => [state, deliveries.filter((one) => one.state === state).length]);
    text(told.firstChild, found.filter(([, some]) => some).map(([state, some]) => `${count(some)} ${DELIVERY_STATES[state]}`).join(', ') || 'nothing to send yet');
    text(told.lastChild, `${events === 'state' ? 'with every state' : 'when it has ended'}, to ${new URL(url).host}`);
    put(messages, deliveries.map(messageLine));
  }
}

/** One message: of which change of the job, where it stands, and what the receiver said last. */
function messageLine({ created_at_ms: at, state, attempts, last_status: status, last_error: error, next_at_ms: next }) {
  const said = [status, error].filter(Boolean).join(': ');
  return h('li', {}, `${moment(at)}: ${DELIVERY_STATES[state] ?? state}, sent ${many(attempts, 'time')}${next ? `, next at ${moment(next)}` : ''}`,
    said && h('div', { class: 'hint digest' }, `Last answer: ${said}`));
}
