import type { FieldScope } from '../filter/step.ts';
import { meetsWait } from '../filter/where.ts';
import { type DigestKey, isOfKey } from '../workflow/event-effects.ts';
import { closingReason, digestResult, openOutput } from '../workflow/steps/digest.ts';
import type { Expectation, Played } from '../workflow/steps/effects.ts';
import type { Happening, RecordedEvents } from './recorded-events.ts';

/** A DIGEST step of a simulated execution, from its beginning until it closes. */
export class OpenDigest {
  readonly #played: Extract<Played, { kind: 'digest' }>;
  readonly #key: Omit<DigestKey, 'isOfTrigger'>;
  readonly #taken: Happening[] = [];

  constructor(played: Extract<Played, { kind: 'digest' }>, key: Omit<DigestKey, 'isOfTrigger'>) {
    this.#played = played;
    this.#key = key;
  }

  /**
   * Takes recorded events that belong to the digest.
   * @param since see `RecordedEvents.takeAll`
   * @param startEventName the name of the events that start the workflow
   */
  take(
    recorded: RecordedEvents,
    since: Expectation['since'] | null,
    { startEventName, ...scope }: Omit<FieldScope, 'event'> & { startEventName: string | null },
  ): void {
    const { eventName, where } = this.#played;
    const key = { ...this.#key, isOfTrigger: eventName === startEventName };
    const meets = ({ data }: Happening, isStart: boolean) =>
      meetsWait(where?.items ?? [], { ...scope, event: data }) && (isStart || isOfKey(key, data));
    this.#taken.push(...recorded.takeAll(eventName, since, meets));
  }

  /** The output of the step while the digest is open. */
  get output(): Record<string, unknown> {
    const closesAt = this.#played.until.toISOString();
    return { ...openOutput(this.#played), count: this.#taken.length, closesAt };
  }

  /**
   * Returns the output and the context of the step if the digest closes now; null: it stays open.
   */
  closing(
    { now, isOver }: { now: Date; isOver: boolean },
    newId: () => string,
  ): ReturnType<typeof digestResult> | null {
    const { eventName, settings } = this.#played;
    const count = this.#taken.length;
    const closedBy = closingReason(settings, { count, isOver });
    if (closedBy === null) return null;
    const events = this.#taken.map((event) => ({ ...event, id: newId() }));
    const [firstAt = null, lastAt = null] = [events[0]?.at, events.at(-1)?.at];
    return digestResult({ eventName, count, closedBy, closedAt: now, firstAt, lastAt, events });
  }
}
