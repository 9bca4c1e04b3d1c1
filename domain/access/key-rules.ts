import type { FieldProblem } from '../errors.ts';
import { hasScope } from './scopes.ts';

/** Rules between the fields of a named key, and between a new key and the key that creates it. */

export interface KeyRights {
  scopes: readonly string[];
  domains: readonly string[] | null;
  cidrs: readonly string[] | null;
  events: readonly string[] | null;
  expiresAt: Date | null;
}

/**
 * The scopes that a key restricted to sender domains may have, besides those that only read. Any
 * other scope could send mail from other domains.
 */
const besideDomains = new Set(['emails:send', 'emails:write', 'verify:read']);

interface GivenScopes {
  scopes: readonly string[] | undefined;
}

/** Returns the problems in the fields of a key. `scopes` is undefined if the request has none. */
export function keyFaults(
  kind: 'secret' | 'public',
  { scopes, domains, events }: Pick<KeyRights, 'domains' | 'events'> & GivenScopes,
): FieldProblem[] {
  const faults: FieldProblem[] = [];
  const refuse = (field: string, message: string) =>
    faults.push({ field, message, code: 'not_allowed' });
  if (kind === 'public') {
    if (scopes?.some((scope) => scope !== 'events:send')) {
      refuse('scopes', 'A public key can only have the scope events:send.');
    }
    if (domains) refuse('domains', 'Only a secret key can have `domains`. Leave the field out.');
    return faults;
  }
  if (!scopes) {
    const message = 'Is required for a secret key.';
    faults.push({ field: 'scopes', message, code: 'invalid_type', received: 'undefined' });
  }
  if (events) refuse('events', 'Only a public key can have `events`. Leave the field out.');
  const past = scopes?.filter((scope) => !besideDomains.has(scope) && !scope.endsWith(':read'));
  if (domains && past && past.length > 0) {
    refuse(
      'scopes',
      `A key with \`domains\` cannot have the scopes ${past.join(', ')}. Remove these scopes, or set \`domains\` to null.`,
    );
  }
  return faults;
}

/**
 * A right that a new key must not get, because the key that creates it does not have this right.
 */
export type Excess = { scope: string } | { restriction: 'domains' | 'cidrs' | 'expiresAt' };

/**
 * Returns the first right of a new key that its creator lacks; null: there is none.
 * @param isNetworkWithin returns true if the first network is in the second.
 */
export function excessOf(
  key: KeyRights,
  maker: KeyRights,
  isNetworkWithin: (network: string, other: string) => boolean,
): Excess | null {
  const scope = key.scopes.find((one) => !grants(maker.scopes, one));
  if (scope !== undefined) return { scope };
  const isWithin = (
    own: readonly string[] | null,
    allowed: readonly string[] | null,
    fits: (one: string, other: string) => boolean,
  ) =>
    allowed === null ||
    (own !== null && own.every((one) => allowed.some((other) => fits(one, other))));
  if (!isWithin(key.domains, maker.domains, (one, other) => one === other)) {
    return { restriction: 'domains' };
  }
  if (!isWithin(key.cidrs, maker.cidrs, isNetworkWithin)) return { restriction: 'cidrs' };
  const { expiresAt } = maker;
  const ends = expiresAt === null || (key.expiresAt !== null && key.expiresAt <= expiresAt);
  return ends ? null : { restriction: 'expiresAt' };
}

function grants(granted: readonly string[], scope: string): boolean {
  return scope === '*' ? granted.includes('*') : hasScope(granted, scope);
}
