import { nearest } from '../text-rules.ts';

/** Event names that only the system may use. */
const reserved = /^(email\..*|contact\.(topic\.)?(un)?subscribed|segment\..+\.(entry|exit))$/s;

/** The events of mail that the system makes. */
const mailEvents = [
  'email.sent',
  'email.delivery',
  'email.open',
  'email.click',
  'email.bounce',
  'email.complaint',
  'email.received',
];

/**
 * For a name under `email.` of an event that never happens: the name that was probably meant.
 * Otherwise null.
 */
export function meantMailEvent(name: string): string | null {
  if (!name.startsWith('email.') || mailEvents.includes(name)) return null;
  return nearest(name, mailEvents) ?? null;
}

/** True for a reserved name: a customer can neither track nor delete it. */
export function isReservedEvent(name: string): boolean {
  return reserved.test(name);
}
