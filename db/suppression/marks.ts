import { type RawBuilder, sql } from 'kysely';
import type { Suppression, TimedSuppression } from '../../domain/mail/suppression.ts';
import type { Database } from '../database.ts';
import { type Addresses, findAddresses } from './keys.ts';

/** Looks up claimed mail in the suppression list of its project. */

/** A claimed message. `has_suppressions` is true if its project has, or once had, entries. */
export interface Claimed {
  to_email: string;
  has_suppressions: boolean;
}

/**
 * Adds the current suppression to claimed messages of a project. If the project has no list, it
 * sends no query; otherwise it looks up all addresses at once.
 */
export async function withSuppressions<E extends Claimed>(
  db: Database,
  projectId: string,
  emails: readonly E[],
): Promise<(E & { suppression: Suppression | null })[]> {
  const found = emails.some((email) => email.has_suppressions)
    ? await findSuppressionsOf(db, projectId, emails)
    : undefined;
  return emails.map((email) => ({ suppression: found?.get(email.to_email) ?? null, ...email }));
}

/** Returns the current suppressions of a project for the addresses of messages, by address. */
export async function findSuppressionsOf(
  db: Database,
  projectId: string,
  emails: readonly { to_email: string }[],
): Promise<Map<string, Suppression>> {
  const addresses = await findAddresses(db, projectId);
  if (!addresses) return new Map();
  return findSuppressions(
    db,
    addresses,
    emails.map((email) => email.to_email),
  );
}

/** Returns the entries that apply now, by address. */
export function findSuppressions(
  db: Database,
  addresses: Addresses,
  emails: readonly string[],
): Promise<Map<string, Suppression>> {
  return findEntries(db, addresses, emails, sql`coalesce(until > now(), true)`);
}

/**
 * Returns the entry of an address with its start and end, for callers that compare it with another
 * time than now.
 */
export async function findTimedSuppression(
  db: Database,
  projectId: string,
  email: string,
): Promise<TimedSuppression | null> {
  const addresses = await findAddresses(db, projectId);
  if (!addresses) return null;
  return (await findEntries(db, addresses, [email], sql`true`)).get(email) ?? null;
}

async function findEntries(
  db: Database,
  { ownerId, hashOf }: Addresses,
  emails: readonly string[],
  holds: RawBuilder<unknown>,
): Promise<Map<string, TimedSuppression>> {
  const byHash = new Map(emails.map((email) => [hashOf(email).toString('hex'), email]));
  const { rows } = await sql<TimedSuppression & { address_hash: Buffer }>`
    select address_hash, scope, reason, until from suppression
      where owner_id = ${ownerId} and address_hash = ${anyHash([...byHash.keys()])}
        and ${holds}`.execute(db);
  return new Map(
    rows.map(({ address_hash: hash, ...entry }) => [byHash.get(hash.toString('hex')) ?? '', entry]),
  );
}

/** SQL that matches any of the hashes (hex), for the right side of `=`. */
export function anyHash(hashes: readonly string[]) {
  return sql`any(${hashes.map((hash) => `\\x${hash}`)}::bytea[])`;
}
