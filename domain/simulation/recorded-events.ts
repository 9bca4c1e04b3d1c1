import type { ContactHistory } from '../filter/history.ts';
import type { Expectation } from '../workflow/steps/effects.ts';
import type { SimulatedEvent, SimulatedMail } from './simulation.ts';

export type Happening = Pick<SimulatedEvent, 'name' | 'at' | 'data'>;

/**
 * The events recorded for a simulated contact, and the point from which waits count them (see
 * `countsFrom`).
 */
export class RecordedEvents {
  readonly #events: Happening[] = [];
  readonly #used = new Set<number>();
  /** Number of events that the current wait or digest has already checked. */
  #seen = 0;
  #from: number | null = null;
  /** The event that started the execution, until a digest takes it. */
  #start: Happening | null = null;

  add(event: Happening): void {
    this.#events.push(event);
  }

  /** Adds the event that starts the execution. Waits do not count it, but a digest may take it. */
  addStart(event: Happening): void {
    this.#start = event;
    this.#used.add(this.#events.push(event) - 1);
  }

  /**
   * Adds the recorded events and the sent mail to the history from before the simulation. A mail
   * counts as sent soon after its step, so a later step finds it only if time has passed in
   * between.
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

  /**
   * Begins to count events, unless counting has begun already. Called when a wait or a webhook
   * begins.
   */
  count(): void {
    this.#from ??= this.#events.length;
  }

  /** Starts the count of events anew. Called when a digest closes. */
  countAnew(): void {
    this.#from = this.#events.length;
  }

  /** Stops counting events. Called when a step takes time. */
  forget(): void {
    this.#from = null;
  }

  /**
   * Takes the first counted event of this name that meets the conditions and was not taken before.
   * After that, only events recorded later than the taken event count.
   * @param since null: the wait was open before, and only events that it has not checked can end it
   */
  take(
    eventName: string,
    since: Expectation['since'] | null,
    meets: (event: Happening) => boolean,
  ): Happening | undefined {
    const begins = { step: this.#from ?? this.#events.length, execution: 0 };
    const from = since === null ? this.#seen : begins[since];
    this.#seen = this.#events.length;
    const place = this.#events.findIndex(
      (event, index) =>
        index >= from && event.name === eventName && !this.#used.has(index) && meets(event),
    );
    if (place >= 0) {
      this.#from = place + 1;
      this.#used.add(place);
    }
    return this.#events[place];
  }

  /**
   * Takes all counted events of this name that meet the conditions and were not taken before.
   * @param since null: the digest was open before, and takes only events that it has not checked
   */
  takeAll(
    eventName: string,
    since: Expectation['since'] | null,
    meets: (event: Happening, isStart: boolean) => boolean,
  ): Happening[] {
    const begins = { step: this.#events.length, execution: 0 };
    const from = since === null ? this.#seen : begins[since];
    this.#seen = this.#events.length;
    return this.#events.filter((event, index) => {
      const isStart = event === this.#start;
      const isFree = isStart || !this.#used.has(index);
      if (index < from || event.name !== eventName || !isFree || !meets(event, isStart))
        return false;
      this.#used.add(index);
      if (isStart) this.#start = null;
      return true;
    });
  }
}
