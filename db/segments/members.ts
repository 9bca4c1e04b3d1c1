import { type RawBuilder, sql } from 'kysely';
import type { Condition } from '../../domain/filter/filter.ts';
import { limits } from '../../domain/limits.ts';
import type { ContactRow } from '../contacts/contacts.ts';
import { withinTime } from '../bounded.ts';
import { columnList } from '../columns.ts';
import { actionOf, type ConsentOrigin, recordConsent } from '../consent/log.ts';
import type { Database } from '../database.ts';
import { anyOf, countRows } from '../expressions.ts';
import { type MadeContact, unsubscribeErased } from '../suppression/erased.ts';
import { hasAddressKey } from '../sql/mail-claims.ts';
import { conditionSql } from '../sql/filter.ts';
import { type SegmentRow, listConditionsFor, updateMemberCount } from './segments.ts';

/**
 * Runs queries that evaluate a customer's condition over all contacts, in one transaction with a
 * statement timeout.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function withinConditionTime<Result>(
  db: Database,
  work: (tx: Database) => Promise<Result>,
  ms: number = limits.conditionTimeMs,
): Promise<Result> {
  return withinTime(db, { ms, problem: 'CONDITION_TOO_HEAVY' }, work);
}

/** A project's condition as an expression on a contact of the query. */
export async function membershipSql(
  db: Database,
  projectId: string,
  condition: Condition,
  now: Date,
): Promise<RawBuilder<boolean>> {
  const segments = await listConditionsFor(db, projectId, condition);
  return conditionSql(condition, { now, segments, projectId });
}

/**
 * How many contacts meet a condition at the moment `now`.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function countMatches(
  db: Database,
  projectId: string,
  condition: Condition,
  now: Date,
): Promise<number> {
  return withinConditionTime(db, async (tx) => {
    const holds = await membershipSql(tx, projectId, condition, now);
    return countRows(tx.selectFrom('contact').where('project_id', '=', projectId).where(holds));
  });
}

/** Counts the members a segment has now and stores the count. @throws Problem CONDITION_TOO_HEAVY */
export async function refreshSegment(
  db: Database,
  segment: SegmentRow,
  now: Date,
): Promise<number> {
  if (segment.type === 'STATIC') return recordStoredCount(db, segment.id);
  const total = await countMatches(db, segment.project_id, segment.condition, now);
  await updateMemberCount(db, segment.id, total);
  return total;
}

/** Counts and stores the number of stored members. Returns it; 0: the segment is gone. */
export async function recordStoredCount(db: Database, segmentId: string): Promise<number> {
  const row = await db
    .updateTable('segment')
    .set({
      member_count: sql<number>`(select count(*)::int from segment_member
        where segment_member.segment_id = segment.id)`,
      computed_at: sql<Date>`now()`,
    })
    .where('id', '=', segmentId)
    .returning('member_count')
    .executeTakeFirst();
  return row?.member_count ?? 0;
}

export interface MembersQuery {
  page: number;
  pageSize: number;
  /** Absent: the newest member of a STATIC segment first, otherwise the newest contact. */
  sort?: 'createdAt' | 'email' | undefined;
  dir: 'asc' | 'desc';
}

/**
 * One page of the contacts in a segment at the moment `now`, and how many there are.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function listMembers(
  db: Database,
  segment: SegmentRow,
  { page, pageSize, sort, dir }: MembersQuery,
  now: Date,
): Promise<{ rows: ContactRow[]; total: number }> {
  return withinConditionTime(db, async (tx) => {
    const isStatic = segment.type === 'STATIC';
    const members = isStatic
      ? sql`contact join segment_member as member
          on member.segment_id = ${segment.id} and member.contact_id = contact.id`
      : sql`contact`;
    const holds = isStatic
      ? sql`true`
      : await membershipSql(tx, segment.project_id, segment.condition, now);
    const from = sql`from ${members} where contact.project_id = ${segment.project_id} and ${holds}`;
    const column = sort ?? (isStatic ? 'member' : 'createdAt');
    const order = sql`${sql.ref(sortColumns[column])} ${sql.raw(dir)}, contact.id ${sql.raw(dir)}`;
    const counted = await sql<{ total: number }>`select count(*)::int as total ${from}`.execute(tx);
    const { rows } = await sql<ContactRow>`
      select ${columnList('contact')} ${from} order by ${order}
        limit ${pageSize} offset ${(page - 1) * pageSize}`.execute(tx);
    return { rows, total: counted.rows[0]?.total ?? 0 };
  });
}

const sortColumns = {
  createdAt: 'contact.created_at',
  email: 'contact.email',
  member: 'member.created_at',
} as const;

/**
 * Adds the contacts of addresses to a STATIC segment that is locked, in the caller's transaction.
 * Returns the addresses that are in it now, and how many contacts were created.
 * @param options.create set: missing contacts are created with this subscription, for this reason.
 */
export async function recordMembers(
  tx: Database,
  segment: SegmentRow,
  emails: readonly string[],
  options: { create?: { subscribed: boolean; origin: ConsentOrigin } | undefined },
): Promise<{ found: string[]; created: number }> {
  let created = 0;
  let contacts = await lockContacts(tx, segment.project_id, emails);
  // Again while other transactions delete what was just found.
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

/** The contacts of addresses, protected from deletion until the transaction ends. */
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

/** Creates the missing contacts. In order of address, so that two requests never deadlock. */
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
