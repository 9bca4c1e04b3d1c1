import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';
import type { NamedKey } from '../../db/projects/key-lookup.ts';
import { hasScope } from '../../domain/access/scopes.ts';
import { Problem } from '../../domain/errors.ts';
import { fitsEventList } from '../../domain/event-names.ts';
import type { Services } from '../services/services.ts';
import type { Access, Caller, ProjectCaller } from './caller.ts';

/** Callers with an API key, and the restrictions of named keys. */

/**
 * Returns the caller with an API key.
 * @throws Problem MISSING_AUTH, INVALID_API_KEY, KEY_RESTRICTED.
 */
export async function keyCaller(
  ctx: Context,
  access: Access,
  { keys, keyUses }: Services,
): Promise<ProjectCaller> {
  const value = readBearer(ctx.get('authorization'));
  const isPublic = /^pk_[0-9a-f]{64}$/.test(value);
  const isSecret = /^sk_[0-9a-f]{64}$/.test(value);
  if (isPublic && access !== 'either') {
    const message = 'This endpoint needs a secret key, but the request has a public key.';
    throw new Problem('INVALID_API_KEY', { message });
  }
  if (!isSecret && !isPublic) throw unknownKey();
  const hash = hashKey(value);
  const owner = await keys.find(isPublic ? { hash, publicKey: value } : { hash });
  if (!owner) throw unknownKey();
  const { project, key } = owner;
  if (key) {
    admit(ctx, key);
    keyUses.note(key.id);
  }
  const caller = { projectId: project.id, project, userId: null, isPublic, key, session: null };
  return { kind: 'project', role: 'ADMIN', ...caller };
}

/** Returns the key in a header. @throws Problem MISSING_AUTH */
export function readBearer(authorization: string): string {
  const [scheme, value, ...rest] = authorization.trim().split(/ +/);
  if (scheme?.toLowerCase() === 'bearer' && value && rest.length === 0) return value;
  throw new Problem('MISSING_AUTH');
}

export function unknownKey(): Problem {
  const suggestion =
    'Check that the whole key was copied, and that the key was not regenerated after that.';
  return new Problem('INVALID_API_KEY', { message: 'No project has this API key.', suggestion });
}

/** Hashes an API key. Secret and named keys are stored and found only by their hash. */
export function hashKey(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}

/** Returns the error for a key that is expired or revoked. */
export function endedKey(reason: 'expired' | 'revoked'): Problem {
  const message = reason === 'revoked' ? 'The API key was revoked.' : 'The API key has expired.';
  const suggestion = 'Use another key of the project.';
  return new Problem('INVALID_API_KEY', { message, suggestion, details: { reason } });
}

/**
 * Refuses a key that has ended or is used outside its networks.
 * @throws Problem INVALID_API_KEY, KEY_RESTRICTED.
 */
function admit(ctx: Context, { ended, cidrs, validUntil }: NamedKey): void {
  if (ended) throw endedKey(ended);
  if (validUntil) ctx.set('Everpost-Key-Expires', new Date(validUntil).toISOString());
  if (cidrs && !isWithin(ctx.ip, cidrs)) throw restricted('cidrs', ctx.ip);
}

/** Returns true if an address is in one of the networks. An IPv4 address may be written as IPv6. */
function isWithin(address: string, cidrs: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  const bits = ip.kind() === 'ipv4' ? 32 : 128;
  return cidrs.some((cidr) => isNetworkWithin(`${ip.toString()}/${bits}`, cidr));
}

/** Returns true if a network is within another, or equal to it. */
export function isNetworkWithin(network: string, other: string): boolean {
  const [address, bits] = ipaddr.parseCIDR(network);
  const [start, otherBits] = ipaddr.parseCIDR(other);
  return address.kind() === start.kind() && bits >= otherBits && address.match(start, otherBits);
}

/**
 * Returns the stored form of a network or address: `203.0.113.7/24` is `203.0.113.0/24`, and
 * `203.0.113.7` is `203.0.113.7/32`. Returns null for any other text.
 */
export function normaliseNetwork(text: string): string | null {
  const [address = '', bits, ...rest] = text.trim().split('/');
  if (rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return null;
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return null;
  if (address.includes('%')) return null;
  const ip = ipaddr.parse(address);
  const max = ip.kind() === 'ipv4' ? 32 : 128;
  const given = bits === undefined ? max : Number(bits);
  if (given > max) return null;
  const isMapped = ip instanceof ipaddr.IPv6 && ip.isIPv4MappedAddress();
  // `::ffff:0:0/96` contains all IPv4 addresses, so a larger network also contains IPv6 addresses.
  if (isMapped && given < 96) return null;
  const mapped = ipaddr.process(address);
  const length = isMapped ? given - 96 : given;
  const kind = mapped.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${mapped.toString()}/${length}`).toString()}/${length}`;
}

/** Returns the error for a request outside a restriction of its key. */
export function restricted(restriction: string, received?: string): Problem {
  const details = received === undefined ? { restriction } : { restriction, received };
  return new Problem('KEY_RESTRICTED', { details });
}

/**
 * Refuses a named key without the scope of an endpoint. All other callers have every scope.
 * @throws Problem INSUFFICIENT_SCOPE
 */
export function requireScope(caller: Caller, needed: string | null): void {
  if (needed === null || caller?.kind !== 'project' || !caller.key) return;
  if (!hasScope(caller.key.scopes, needed)) throw lackingScope(needed, caller.key.scopes);
}

export function lackingScope(needed: string, granted: readonly string[]): Problem {
  const message = `The API key does not have the scope ${needed}.`;
  return new Problem('INSUFFICIENT_SCOPE', { message, details: { needed, granted } });
}

/**
 * Refuses a named key that may not send from a domain.
 * @throws Problem KEY_RESTRICTED
 */
export function requireSenderDomain({ key }: ProjectCaller, domain: string): void {
  if (key?.domains && !key.domains.includes(domain)) throw restricted('domains', domain);
}

/**
 * Refuses a named key that may not track an event.
 * @throws Problem KEY_RESTRICTED
 */
export function requireEvent({ key }: ProjectCaller, name: string): void {
  if (key?.events && !fitsEventList(name, key.events)) throw restricted('events', name);
}
