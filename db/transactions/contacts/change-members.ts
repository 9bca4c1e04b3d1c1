import { sql } from 'kysely';
import { actionOf, type ConsentOrigin, recordConsent } from '../../consent/log.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { recordStoredCount } from '../../segments/members.ts';
import type { SegmentRow } from '../../segments/segments.ts';
import { hasAddressKey } from '../../sql/mail-claims.ts';
import { type MadeContact, unsubscribeErased } from '../../suppression/erased.ts';

/**
 * Adds the contacts of these addresses to a locked STATIC segment, in the caller's transaction.
 * Returns the addresses that are in it now, and the number of created contacts.
 * @param options.create if set, missing contacts are created with this subscription, and `origin`
 *   is recorded as its evidence.
 */
export async function recordMembers(
  tx: Database,
  segment: SegmentRow,
  emails: readonly string[],
  options: { create?: { subscribed: boolean; origin: ConsentOrigin } | undefined },
): Promise<{ found: string[]; created: number }> {
  let created = 0;
  let contacts = await lockContacts(tx, segment.project_id, emails);
  // Creates the missing contacts. Repeats if another transaction deletes a contact after the insert
  // has skipped it as existing.
  while (options.create && contacts.length < emails.length) {
    created += await insertContacts(tx, segment.project_id, emails, options.create);
    contacts = await lockContacts(tx, segment.project_id, emails);
  }
  await sql`
    insert into segment_member (segment_id, contact_id, project_id)
      select ${segment.id}, id, ${segment.project_id}
        from unnest(${contacts.map(({ id }) => id)}::uuid[]) as id
      on conflict do nothing`.execute(tx);
  await recordStoredCount(tx, segment.id);
  return { found: contacts.map(({ email }) => email), created };
}

/** Removes contacts from a locked STATIC segment. Returns how many of them exist. */
export async function deleteMembers(
  tx: Database,
  segment: SegmentRow,
  emails: readonly string[],
): Promise<number> {
  const contacts = await lockContacts(tx, segment.project_id, emails);
  await sql`
    delete from segment_member where segment_id = ${segment.id}
      and contact_id = any(${contacts.map(({ id }) => id)}::uuid[])`.execute(tx);
  await recordStoredCount(tx, segment.id);
  return contacts.length;
}

/** Returns the contacts of addresses, and prevents their deletion until the transaction ends. */
async function lockContacts(tx: Database, projectId: string, emails: readonly string[]) {
  return tx
    .selectFrom('contact')
    .select(['id', 'email'])
    .where('project_id', '=', projectId)
    .where('email', '=', anyOf(emails, 'text'))
    .orderBy('id')
    .forKeyShare()
    .execute();
}

/** Creates the missing contacts in order of address, so that two requests never deadlock. */
async function insertContacts(
  tx: Database,
  projectId: string,
  emails: readonly string[],
  { subscribed, origin }: { subscribed: boolean; origin: ConsentOrigin },
): Promise<number> {
  const { rows } = await sql<MadeContact>`
    insert into contact (project_id, email, subscribed)
      select ${projectId}, email, ${subscribed} from unnest(${emails}::text[]) as email
        order by email
      on conflict (project_id, email) do nothing
      returning id, email, subscribed, ${hasAddressKey(projectId)} as has_list`.execute(tx);
  const action = actionOf(true, origin.source);
  const granted = await unsubscribeErased(tx, projectId, rows);
  const lines = granted.map((contactId) => ({ contactId, action, topic: null }));
  await recordConsent(tx, projectId, lines, origin);
  return rows.length;
}
