import { sql } from 'kysely';
import { limits } from '../../domain/limits.ts';
import { Problem } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import { anyOf, isoTime } from '../expressions.ts';
import { type Addresses, findAddresses, requireAddresses } from './keys.ts';
import { findSuppressions } from './marks.ts';

/**
 * Contacts that have opted out stay opted out after their deletion: an entry with the reason
 * `erased` keeps the hash of the address. If the contact is created again, it is unsubscribed, and
 * only the person can change this.
 */

export async function findErased(
  db: Database,
  projectId: string,
  emails: readonly string[],
): Promise<Set<string>> {
  if (emails.length === 0) return new Set();
  const addresses = await findAddresses(db, projectId);
  if (!addresses) return new Set();
  const found = await findSuppressions(db, addresses, emails);
  return new Set(
    [...found].filter(([, { reason }]) => reason === 'erased').map(([email]) => email),
  );
}

/** A new contact. `has_list` is true if its project has a suppression list (`hasAddressKey`). */
export interface MadeContact {
  id: string;
  email: string;
  subscribed: boolean;
  has_list: boolean;
}

/**
 * Unsubscribes new contacts whose address is erased, in the transaction that created them. The
 * insert may have waited for the deletion of a contact with the same address; only a later
 * statement, such as this one, sees the entry that the deletion has made. Returns the ids of the
 * other contacts that are subscribed.
 */
export async function unsubscribeErased(
  tx: Database,
  projectId: string,
  made: readonly MadeContact[],
): Promise<string[]> {
  const subscribed = made.filter((contact) => contact.subscribed);
  const asked = subscribed.filter((contact) => contact.has_list).map(({ email }) => email);
  const erased = await findErased(tx, projectId, asked);
  const ids = subscribed.filter(({ email }) => erased.has(email)).map(({ id }) => id);
  if (ids.length > 0) {
    await sql`update contact set subscribed = false where id = ${anyOf(ids)}`.execute(tx);
    // Delete the rows of the consent log that were written when these contacts were created. No
    // other transaction has seen them.
    await sql`delete from consent where contact_id = ${anyOf(ids)}`.execute(tx);
  }
  return subscribed.filter(({ email }) => !erased.has(email)).map(({ id }) => id);
}

/**
 * Refuses to subscribe an erased address, because only its owner may subscribe it.
 * @throws Problem CONTACT_SUPPRESSED when the address is erased.
 */
export async function refuseErased(tx: Database, projectId: string, email: string): Promise<void> {
  const erased = await findErased(tx, projectId, [email]);
  if (!erased.has(email)) return;
  throw new Problem('CONTACT_SUPPRESSED', { details: { email, reason: 'erased' } });
}

/**
 * Removes an address from the suppression list because its owner has subscribed, in the caller's
 * transaction. Entries for all mail are kept, and entries made after a complaint or by hand.
 */
export async function liftSuppression(
  tx: Database,
  projectId: string,
  email: string,
): Promise<void> {
  const addresses = await findAddresses(tx, projectId);
  if (!addresses) return;
  await sql`
    delete from suppression
      where owner_id = ${addresses.ownerId} and address_hash = ${addresses.hashOf(email)}
        and scope = 'marketing' and reason not in ('complaint', 'manual')`.execute(tx);
}

/**
 * SQL that is true if a contact has opted out, according to the consent log. If the log has no
 * entry of the contact, the contact's events decide.
 */
const hasOptedOut = sql<boolean>`(not contact.subscribed and coalesce(
  (select inner_last.action = 'withdrawn' from consent inner_last
    where inner_last.contact_id = contact.id and inner_last.topic is null
      and inner_last.action not in ('requested', 'expired', 'address_changed')
    order by inner_last.id desc limit 1),
  exists (select from event inner_opt_out
    where inner_opt_out.contact_id = contact.id
      and inner_opt_out.name = 'contact.unsubscribed')))`;

/**
 * SQL that selects the newest rows of a contact in the consent log as JSON, oldest first, without
 * data that identify the person.
 */
const historyOf = sql`(
  select coalesce(jsonb_agg(jsonb_build_object('at', ${isoTime(sql`at`)}, 'action', action,
      'source', source, 'topic', topic) order by id), '[]')
    from (select id, at, action, source, topic from consent inner_line
      where inner_line.contact_id = contact.id order by id desc limit ${limits.consentLines}) newest)`;

/**
 * Keeps the opt-outs of contacts that are about to be deleted, in the caller's transaction, which
 * has locked them. An existing entry does not change.
 */
export async function keepOptOuts(
  tx: Database,
  projectId: string,
  contactIds: readonly string[],
): Promise<void> {
  const { rows } = await sql<{ id: string; email: string }>`
    select id, email from contact
      where id = ${anyOf(contactIds)} and ${hasOptedOut}`.execute(tx);
  if (rows.length === 0) return;
  const addresses = await requireAddresses(tx, projectId);
  await insertErased(tx, addresses, rows);
}

/**
 * Replaces the address of an erased contact on the list by its hash, in the caller's transaction,
 * which has locked the contact.
 * @param options.suppress false: no entry is made, and an entry with the reason `erased` is deleted
 * @returns the number of changed entries: 0 or 1
 */
export async function hashSuppression(
  tx: Database,
  projectId: string,
  contact: { id: string; email: string },
  { suppress }: { suppress: boolean },
): Promise<number> {
  const addresses = suppress
    ? await requireAddresses(tx, projectId)
    : await findAddresses(tx, projectId);
  if (!addresses) return 0;
  const isOwn = sql`suppression.owner_id = ${addresses.ownerId}
    and suppression.address_hash = ${addresses.hashOf(contact.email)}`;
  const gone = await sql`
    delete from suppression where ${isOwn}
      and (until <= now() or ${!suppress} and reason = 'erased')`.execute(tx);
  const hashed = await sql`
    update suppression set email = null, email_id = null, history = ${historyOf}
      from contact where ${isOwn} and suppression.email is not null
        and contact.id = ${contact.id}`.execute(tx);
  const changed = Number(gone.numAffectedRows ?? 0) + Number(hashed.numAffectedRows ?? 0);
  if (!suppress) return Math.min(changed, 1);
  return Math.min(changed + (await insertErased(tx, addresses, [contact])), 1);
}

/** Adds hashed entries for contacts whose address has no current entry. Returns their number. */
export async function insertErased(
  tx: Database,
  { ownerId, hashOf }: Addresses,
  contacts: readonly { id: string; email: string }[],
): Promise<number> {
  const { numAffectedRows } = await sql`
    insert into suppression (owner_id, address_hash, reason, scope, history)
      select ${ownerId}, given.hash, 'erased', 'marketing', ${historyOf}
        from unnest(${contacts.map(({ id }) => id)}::uuid[],
          ${contacts.map(({ email }) => `\\x${hashOf(email).toString('hex')}`)}::bytea[])
          as given(id, hash)
        join contact on contact.id = given.id
        order by given.hash
      on conflict (owner_id, address_hash) do update set email = null, reason = 'erased',
          scope = 'marketing', email_id = null, until = null, history = excluded.history,
          created_at = now()
        where suppression.until <= now()`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
