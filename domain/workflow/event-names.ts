/** Event names that only the system may use. */
const reserved = /^(email\..*|contact\.(un)?subscribed|segment\..+\.(entry|exit))$/s;

/** True for a reserved name: a customer can neither track nor delete it. */
export function isReservedEvent(name: string): boolean {
  return reserved.test(name);
}
