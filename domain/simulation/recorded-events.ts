import type { SimulatedEvent } from './simulation.ts';

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
