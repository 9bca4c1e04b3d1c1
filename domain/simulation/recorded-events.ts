import type { ContactHistory } from '../filter/history.ts';
import type { SimulatedEvent, SimulatedMail } from './simulation.ts';

/** An event that was recorded. */
export type Happening = Pick<SimulatedEvent, 'name' | 'at' | 'data'>;

/**
 * Events recorded for a simulated contact, and the point from which waits count them: see
 * `countsFrom`.
 */
export class RecordedEvents {
  readonly #events: Happening[] = [];
  #from: number | null = null;

  add(event: Happening): void {
    this.#events.push(event);
  }

  /**
   * Adds these events, and mail that has been sent, to the history from before the simulation. Mail is sent
   * soon after its step: later steps see it as soon as time has passed.
   */
  addTo(history: ContactHistory, emails: readonly SimulatedMail[], now: Date): ContactHistory {
    const events = new Map(history.events);
    const activities = new Map(history.activities);
    for (const { name, at } of this.#events) events.set(name, at);
    const sent = emails.findLast(({ outcome, at }) => outcome === 'send' && at < now);
    if (sent) {
      events.set('email.sent', sent.at);
      activities.set('sent', sent.at);
    }
    return { ...history, events, activities };
  }

  /** Counts what is recorded from here on, unless it counts from earlier: a wait or a webhook begins. */
  count(): void {
    this.#from ??= this.#events.length;
  }

  /** Counts nothing of what was recorded: time has passed in a step. */
  forget(): void {
    this.#from = null;
  }

  /** The first event of this name that counts. Behind it, all count that were recorded later. */
  take(eventName: string): Happening | undefined {
    const from = this.#from ?? this.#events.length;
    const place = this.#events.findIndex(({ name }, index) => index >= from && name === eventName);
    if (place >= 0) this.#from = place + 1;
    return this.#events[place];
  }
}
