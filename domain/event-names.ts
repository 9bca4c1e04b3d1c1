import type { FieldCode } from './errors.ts';
import { limits } from './limits.ts';

/** Event names that only the system may use. */
const reserved =
  /^(email\..*|contact\.(topic\.)?(un)?subscribed|segment\..+\.(entry|exit)|api_key\.(expiring|expired))$/s;

export const mailEvents: readonly string[] = [
  'email.sent',
  'email.delivery',
  'email.open',
  'email.click',
  'email.human_open',
  'email.human_click',
  'email.bounce',
  'email.complaint',
  'email.received',
];

/**
 * The event of a ramp that has stopped. It belongs to no contact, so only event subscriptions
 * receive it.
 */
export const rampStoppedEvent = 'email.ramp_stopped';

/**
 * The events of a named key that expires soon or has expired. These events belong to no contact.
 */
export const keyExpiringEvent = 'api_key.expiring';
export const keyExpiredEvent = 'api_key.expired';

/**
 * Returns true for a name that begins with `email.` but is no event that the system records for a
 * contact.
 */
export function isUnmadeEvent(name: string): boolean {
  return name.startsWith('email.') && !mailEvents.includes(name);
}

/**
 * Returns why a trimmed text is not a valid event name; null: it is valid. Names have 1 to
 * `eventNameChars` characters without control characters, and are case-sensitive.
 */
export function eventNameFault(name: string): { code: FieldCode; message: string } | null {
  const { eventNameChars } = limits;
  if (name === '') return { code: 'too_small', message: 'Must not be blank.' };
  if (name.length > eventNameChars) {
    const message = `The name of an event must have at most ${eventNameChars} characters, not ${name.length}.`;
    return { code: 'too_big', message };
  }
  const isOneLine = !/\p{Cc}/u.test(name);
  return isOneLine
    ? null
    : { code: 'invalid_string', message: 'Must be one line, without control characters.' };
}

/**
 * Returns true for a reserved name. Customers can neither track nor delete events with such a name.
 */
export function isReservedEvent(name: string): boolean {
  return reserved.test(name);
}

/** Returns true if a list has this name, a prefix of it in the form `<prefix>.*`, or `*`. */
export function fitsEventList(name: string, list: readonly string[]): boolean {
  return list.some(
    (item) =>
      item === '*' || item === name || (item.endsWith('.*') && name.startsWith(item.slice(0, -1))),
  );
}
