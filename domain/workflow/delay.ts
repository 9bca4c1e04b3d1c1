import { type ContactValues, valueOf } from '../filter/evaluate.ts';
import { stepFieldOf, type Unit, unitMs } from '../filter/filter.ts';
import { instantOf } from '../filter/value.ts';
import {
  contactZone,
  nextInstant,
  parseWallTime,
  type Weekday,
  weekdays,
  type ZonePolicy,
} from '../time/zones.ts';

/** How long a DELAY lasts, in each of its forms. */

/** A delay of a length, until a time of day, or until a date of the contact or the context. */
export type DelayConfig =
  | { amount: number; unit: Unit }
  | { until: { time: string; days?: Weekday[] | undefined; timeZone?: string | undefined } }
  | {
      untilField: string;
      offset?: { amount: number; unit: Unit } | undefined;
      ifPast?: 'continue' | 'exit' | undefined;
    };

/** What decides that, beside the config. */
export interface DelayScope {
  /** When the step began. */
  beganAt: Date;
  /** When the contact and the context were read. */
  now: Date;
  contact: ContactValues;
  context: Record<string, unknown> | null;
  zones: ZonePolicy;
}

/** What a delay comes to, with the output of its step. */
export type DelayEnd =
  | { kind: 'rest'; until: Date; output: Record<string, unknown> }
  /** Its date is past or missing: nothing is waited for. `exitReason` null: the execution goes on. */
  | {
      kind: 'past';
      exitReason: 'date_past' | 'date_missing' | null;
      output: Record<string, unknown>;
    };

/** A date is at most this many days ahead. */
const daysAheadMax = 3650;

/** A delay of a fixed length, and its output but for the time when it is over. */
export interface FixedDelay {
  ms: number;
  output: Record<string, unknown>;
}

/** What a delay is whenever it begins and whoever is in it; null: that decides how long it lasts. */
export function fixedDelay(config: DelayConfig): FixedDelay | null {
  if (!('amount' in config)) return null;
  const { amount, unit } = config;
  return { ms: amount * unitMs[unit], output: { delayAmount: amount, delayUnit: unit } };
}

/** When a delay that began at `beganAt` is over. */
export function delayEnd(config: DelayConfig, scope: DelayScope): DelayEnd {
  if ('until' in config) return untilTime(config.until, scope);
  if ('untilField' in config) return untilDate(config, scope);
  const { ms, output } = fixedDelay(config)!;
  return resting(new Date(scope.beganAt.getTime() + ms), output);
}

type Form<K extends string> = Extract<DelayConfig, Record<K, unknown>>;

function untilTime(
  { time, days = [...weekdays], timeZone = 'contact' }: Form<'until'>['until'],
  { beganAt, contact, zones }: DelayScope,
): DelayEnd {
  const zone = timeZone === 'contact' ? contactZone(contact.data, zones) : timeZone;
  const wallTime = parseWallTime(time);
  if (!wallTime) throw new Error(`"${time}" is no time of day.`);
  const until = nextInstant(zone, { time: wallTime, days }, beganAt);
  return resting(until, { untilTime: time, untilDays: days, timeZone: zone });
}

function untilDate(
  { untilField, offset, ifPast = 'continue' }: Form<'untilField'>,
  { now, contact, context }: DelayScope,
): DelayEnd {
  const place = stepFieldOf(untilField);
  // The context is read like the data of a contact.
  const source = place?.root === 'context' ? { ...contact, data: context } : contact;
  const value = place ? valueOf(place.field, source) : undefined;
  const date = instantOf(value);
  const fieldValue = value instanceof Date ? value.toISOString() : (value ?? null);
  const target = date === null ? null : date + (offset ? offset.amount * unitMs[offset.unit] : 0);
  const isPast = target !== null && target <= now.getTime();
  const isTooFar = target !== null && target > now.getTime() + daysAheadMax * unitMs.days;
  if (target !== null && !isPast && !isTooFar) {
    return resting(new Date(target), { untilField, fieldValue, past: false });
  }
  const exitReason = ifPast === 'continue' ? null : isPast ? 'date_past' : 'date_missing';
  const output = { untilField, fieldValue, resumeAt: null, past: true };
  return { kind: 'past', exitReason, output };
}

function resting(until: Date, output: Record<string, unknown>): DelayEnd {
  return { kind: 'rest', until, output: { ...output, resumeAt: until.toISOString() } };
}
