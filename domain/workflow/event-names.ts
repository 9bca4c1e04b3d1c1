/** Names only the system itself may use for events. */
const reserved = /^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$/s;

/** True for a name that belongs to the system: a customer can neither track nor delete it. */
export function isReservedEvent(name: string): boolean {
  return reserved.test(name);
}
