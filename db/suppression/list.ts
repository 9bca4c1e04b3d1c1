import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import type { SuppressionReason, SuppressionScope } from '../../domain/mail/suppression.ts';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import type { Suppression } from '../tables.ts';
import { findAddresses, requireAddresses } from './keys.ts';
import { lowerAscii } from '../../domain/email-address.ts';

/**
 * The entries of the suppression lists. Entries that have ended count as absent, until the sweep
 * deletes them.
 */

export type SuppressionRow = Selectable<Suppression>;

export interface NewSuppression {
  /** The address in its stored form. */
  email: string;
  reason: SuppressionReason;
  scope: SuppressionScope;
  /** The message whose feedback or link causes the entry. */
  emailId?: string | null;
  /** When the suppression ends; null: never. */
  until?: Date | null;
}

const isCurrent = sql`coalesce(until > now(), true)`;

/**
 * Adds addresses to the list of a project, in the caller's transaction. If an entry exists, the
 * wider scope and the later end apply; if the scope becomes wider, the reason changes, too. An
 * entry that has only a hash keeps only the hash.
 * @param given each address once
 * @returns the number of new entries, and of changed entries
 */
export async function recordSuppressions(
  tx: Database,
  projectId: string,
  given: readonly NewSuppression[],
): Promise<{ added: number; updated: number }> {
  if (given.length === 0) return { added: 0, updated: 0 };
  const { ownerId, hashOf } = await requireAddresses(tx, projectId);
  const entries = given.map(({ email, reason, scope, emailId = null, until = null }) => ({
    address_hash: `\\x${hashOf(email).toString('hex')}`,
    email,
    reason,
    scope,
    email_id: emailId,
    until,
  }));
  // An entry that has ended is replaced completely.
  const had = (column: string) => sql.ref(`suppression.${column}`);
  const isOver = sql`${had('until')} <= now()`;
  const widens = sql`(${had('scope')} = 'marketing' and excluded.scope = 'all')`;
  const outlasts = sql`(${had('until')} is not null
    and coalesce(excluded.until > ${had('until')}, true))`;
  const taken = (condition: RawBuilder<unknown>, column: string) => sql`
    ${sql.ref(column)} = case when ${isOver} or ${condition}
      then ${sql.ref(`excluded.${column}`)} else ${had(column)} end`;
  const { rows } = await sql<{ isNew: boolean }>`
    insert into suppression (owner_id, address_hash, email, reason, scope, email_id, until)
      select ${ownerId}, address_hash::bytea, email, reason, scope, email_id, until
        from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as given(address_hash text,
          email text, reason text, scope text, email_id uuid, until timestamptz)
        -- In a fixed order, because two transactions may write the same addresses.
        order by address_hash
      on conflict (owner_id, address_hash) do update set
          ${taken(widens, 'reason')}, ${taken(widens, 'scope')}, ${taken(widens, 'email_id')},
          ${taken(outlasts, 'until')}, ${taken(sql`false`, 'email')},
          ${taken(sql`false`, 'history')}, ${taken(sql`false`, 'created_at')}
        where ${isOver} or ${widens} or ${outlasts}
      returning created_at = now()::timestamptz(3) as "isNew"`.execute(tx);
  const added = rows.filter((row) => row.isNew).length;
  return { added, updated: rows.length - added };
}

/** Filters of the list; absent filters do not apply. */
export interface SuppressionFilter {
  /** Part of an address, in any case. Entries that have only a hash do not match. */
  search?: string | undefined;
  reason?: SuppressionReason | undefined;
  scope?: SuppressionScope | undefined;
}

function matching(projectId: string, { search, reason, scope }: SuppressionFilter) {
  const conditions = [
    sql`owner_id = (select coalesce(inner_list_owner.public_id, inner_list_owner.id)
      from project inner_list_owner where inner_list_owner.id = ${projectId})`,
    isCurrent,
    ...(search ? [sql`position(${lowerAscii(search)} in email) > 0`] : []),
    ...(reason === undefined ? [] : [sql`reason = ${reason}`]),
    ...(scope === undefined ? [] : [sql`scope = ${scope}`]),
  ];
  return sql.join(conditions, sql` and `);
}

/** Lists the entries of a project, newest first, and counts them (0 on later pages). */
export async function listSuppressions(
  db: Database,
  projectId: string,
  { after, limit, ...filter }: SuppressionFilter & { after?: Position | undefined; limit: number },
): Promise<{ rows: SuppressionRow[]; total: number }> {
  const matches = matching(projectId, filter);
  const place = after
    ? sql`(created_at, id) < (${after.value}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  const { rows } = await sql<SuppressionRow>`
    select ${columnList('suppression')} from suppression where ${matches} and ${place}
      order by created_at desc, id desc limit ${limit}`.execute(db);
  if (after) return { rows, total: 0 };
  const counted = await sql<{ total: number }>`
    select count(*)::int as total from suppression where ${matches}`.execute(db);
  return { rows, total: counted.rows[0]?.total ?? 0 };
}

/** Finds the entry of an address in its stored form. */
export async function findSuppression(
  db: Database,
  projectId: string,
  email: string,
): Promise<SuppressionRow | undefined> {
  const addresses = await findAddresses(db, projectId);
  if (!addresses) return undefined;
  const { rows } = await sql<SuppressionRow>`
    select ${columnList('suppression')} from suppression
      where owner_id = ${addresses.ownerId} and address_hash = ${addresses.hashOf(email)}
        and ${isCurrent}`.execute(db);
  return rows[0];
}

/** Removes an address from the list. Returns false when the list did not have it. */
export async function deleteSuppression(
  db: Database,
  projectId: string,
  email: string,
): Promise<boolean> {
  const addresses = await findAddresses(db, projectId);
  if (!addresses) return false;
  const { rows } = await sql<{ isCurrent: boolean }>`
    delete from suppression
      where owner_id = ${addresses.ownerId} and address_hash = ${addresses.hashOf(email)}
      returning ${isCurrent} as "isCurrent"`.execute(db);
  return rows[0]?.isCurrent ?? false;
}
