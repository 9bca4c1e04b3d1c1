import { defaultProviderId } from '../provider/provider.ts';

/** Ramps: daily limits that rise while a new mail provider or sender domain warms up. */

export const rampStatuses = ['RUNNING', 'PAUSED', 'STOPPED', 'DONE'] as const;

/** Mail over the limit is held, or goes to the next provider of its route. */
export const rampOvers = ['hold', 'next'] as const;
type RampOver = (typeof rampOvers)[number];

/** Returns the limit of a day; the first day is day 1. */
export function capOfDay(
  { startPerDay, factor }: { startPerDay: number; factor: number },
  day: number,
): number {
  return Math.floor(startPerDay * factor ** (day - 1));
}

/**
 * Returns how many days of a ramp have ended since the last check: several if no process ran for
 * long.
 * @param endsAt the end of the current day; null: the ramp is not running
 */
export function daysPassed(endsAt: Date | null, daySeconds: number, now: Date): number {
  if (endsAt === null || now < endsAt) return 0;
  return 1 + Math.floor((now.getTime() - endsAt.getTime()) / (daySeconds * 1000));
}

/** Number of days before the current day whose mail also counts for the threshold. */
const judgedDaysBefore = 2;

/** The counts of a ramp in one period. A new period begins with each day and with each resume. */
export interface RampPeriod {
  number: number;
  day: number;
  sent: number;
  bounced: number;
  complained: number;
}

/** The rates, in percent, at which a ramp stops; null: never. */
export interface Threshold {
  bounceRate: number | null;
  complaintRate: number | null;
  /** Minimum number of sent messages. With fewer, the rates are not compared. */
  minSent: number;
}

export type StoppedFor = 'bounces' | 'complaints';

/**
 * Returns why a ramp must stop, with the rate in percent; null: it can continue.
 * @param given.judgedFrom number of the first period that counts, which began with the last resume
 */
export function judgeRamp(
  { bounceRate, complaintRate, minSent }: Threshold,
  given: { day: number; judgedFrom: number; periods: readonly RampPeriod[] },
): { stoppedFor: StoppedFor; rate: number } | null {
  const judged = given.periods.filter(
    ({ number, day }) => number >= given.judgedFrom && day >= given.day - judgedDaysBefore,
  );
  const sum = (field: 'sent' | 'bounced' | 'complained') =>
    judged.reduce((total, period) => total + period[field], 0);
  const sent = sum('sent');
  if (sent < Math.max(minSent, 1)) return null;
  const rates = [
    { stoppedFor: 'bounces', count: sum('bounced'), limit: bounceRate },
    { stoppedFor: 'complaints', count: sum('complained'), limit: complaintRate },
  ] as const;
  for (const { stoppedFor, count, limit } of rates) {
    const rate = (count * 100) / sent;
    // With a limit of 0, the ramp stops at the first bounce or complaint, not before.
    if (limit !== null && count > 0 && rate >= limit) return { stoppedFor, rate };
  }
  return null;
}

/** The mail that a ramp counts; null: any provider, or any sender domain. */
export interface RampScope {
  providerId: string | null;
  domain: string | null;
}

/**
 * Returns true if a ramp counts this message.
 * @param mail.providerId null: the default provider
 */
export function rampFits(
  { providerId, domain }: RampScope,
  mail: { senderDomain: string; providerId: string | null },
): boolean {
  const isByProvider = providerId === null || providerId === (mail.providerId ?? defaultProviderId);
  return isByProvider && (domain === null || domain === mail.senderDomain);
}

/** The state of a ramp that is not done, read at one moment. */
export interface OpenRamp extends RampScope {
  id: string;
  over: RampOver;
  /**
   * Number of messages that may still pass today; null: the ramp is not running, so none may pass.
   */
  room: number | null;
  /** Until when further messages are held. */
  until: Date;
}

export interface RampedMail {
  senderDomain: string;
  /** The provider that would send the message; null: the default provider. */
  providerId: string | null;
  /** True if the message is transactional. Such a message counts, but is never held. */
  isTransactional: boolean;
}

/**
 * Counts how many messages each ramp of a project may still send today, while due messages are
 * decided one by one.
 */
export class RampRooms {
  readonly #ramps: readonly OpenRamp[];
  readonly #rooms: Map<OpenRamp, number>;

  constructor(ramps: readonly OpenRamp[]) {
    this.#ramps = ramps;
    this.#rooms = new Map(ramps.map((ramp) => [ramp, ramp.room ?? 0]));
  }

  /**
   * Returns the ramp that holds a message back; null: the message may pass. If several ramps hold
   * it, this is the one whose hold ends last.
   */
  holding(mail: RampedMail): OpenRamp | null {
    const [last] = this.#fullFor(mail).toSorted(
      (one, other) => other.until.getTime() - one.until.getTime(),
    );
    return last ?? null;
  }

  /** Returns true if a message goes to the next provider instead of waiting for a ramp. */
  isPassedOver(mail: RampedMail): boolean {
    const full = this.#fullFor(mail);
    return full.length > 0 && full.every(({ over }) => over === 'next');
  }

  /** Counts a message that passes. Returns the ramps that counted it. */
  take(mail: RampedMail): OpenRamp[] {
    const fitting = this.#ramps.filter((ramp) => rampFits(ramp, mail));
    for (const ramp of fitting) this.#rooms.set(ramp, this.#roomOf(ramp) - 1);
    return fitting;
  }

  #fullFor(mail: RampedMail): OpenRamp[] {
    if (mail.isTransactional) return [];
    return this.#ramps.filter((ramp) => this.#roomOf(ramp) <= 0 && rampFits(ramp, mail));
  }

  #roomOf(ramp: OpenRamp): number {
    return this.#rooms.get(ramp) ?? 0;
  }
}
