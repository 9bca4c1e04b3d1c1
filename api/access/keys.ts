import { createHash } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';
import type { NamedKey } from '../../db/projects/key-lookup.ts';
import { hasScope } from '../../domain/access/scopes.ts';
import { Problem } from '../../domain/errors.ts';
import { fitsEventList } from '../../domain/event-names.ts';
import type { Services } from '../services/services.ts';
import type { Access, Caller, ProjectCaller } from './caller.ts';

/** Callers by API key, and what restricts a named key. */

/** @throws Problem MISSING_AUTH, INVALID_API_KEY, KEY_RESTRICTED. */
export async function keyCaller(
  ctx: Context,
  access: Access,
  { keys, keyUses }: Services,
): Promise<ProjectCaller> {
  const [scheme, value, ...rest] = ctx.get('authorization').trim().split(/ +/);
  if (scheme?.toLowerCase() !== 'bearer' || !value || rest.length > 0) {
    throw new Problem('MISSING_AUTH');
  }
  const isPublic = /^pk_[0-9a-f]{64}$/.test(value);
  const isSecret = /^sk_[0-9a-f]{64}$/.test(value);
  if (isPublic && access !== 'either') throw new Problem('INVALID_API_KEY');
  if (!isSecret && !isPublic) throw unknownKey();
  const hash = hashKey(value);
  const owner = await keys.find(isPublic ? { hash, publicKey: value } : { hash });
  if (!owner) throw unknownKey();
  const { project, key } = owner;
  if (key) {
    admit(ctx, key);
    keyUses.note(key.id);
  }
  const caller = { projectId: project.id, project, userId: null, isPublic, key };
  return { kind: 'project', role: 'ADMIN', ...caller };
}

function unknownKey(): Problem {
  const suggestion = 'Check that the whole key was copied, and that it was not regenerated since.';
  return new Problem('INVALID_API_KEY', { suggestion });
}

/** Hashes an API key. Only the hash of a secret or named key is stored and looked up. */
export function hashKey(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}

/** @throws Problem INVALID_API_KEY, KEY_RESTRICTED. */
function admit(ctx: Context, { ended, cidrs, validUntil }: NamedKey): void {
  if (ended) {
    const message = ended === 'revoked' ? 'The API key was revoked.' : 'The API key has expired.';
    const suggestion = 'Use another key of the project.';
    throw new Problem('INVALID_API_KEY', { message, suggestion, details: { reason: ended } });
  }
  if (validUntil) ctx.set('Everpost-Key-Expires', new Date(validUntil).toISOString());
  if (cidrs && !isWithin(ctx.ip, cidrs)) throw restricted('cidrs', ctx.ip);
}

/** Returns true if an address is in one of the networks. An IPv4 address may be written as IPv6. */
function isWithin(address: string, cidrs: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const ip = ipaddr.process(address);
  return cidrs.some((cidr) => {
    const [network, bits] = ipaddr.parseCIDR(cidr);
    return network.kind() === ip.kind() && ip.match(network, bits);
  });
}

/** Returns the refusal of a request outside a restriction of its key. */
function restricted(restriction: string, received: string): Problem {
  return new Problem('KEY_RESTRICTED', { details: { restriction, received } });
}

/**
 * Refuses a named key without the scope of an endpoint. All other callers have every scope.
 * @throws Problem INSUFFICIENT_SCOPE
 */
export function requireScope(caller: Caller, needed: string | null): void {
  if (needed === null || caller?.kind !== 'project' || !caller.key) return;
  const { scopes: granted } = caller.key;
  if (hasScope(granted, needed)) return;
  throw new Problem('INSUFFICIENT_SCOPE', {
    message: `The API key does not have the scope ${needed}.`,
    details: { needed, granted },
  });
}

/** @throws Problem KEY_RESTRICTED when a key must not track this event. */
export function requireEvent({ key }: ProjectCaller, name: string): void {
  if (key?.events && !fitsEventList(name, key.events)) throw restricted('events', name);
}
