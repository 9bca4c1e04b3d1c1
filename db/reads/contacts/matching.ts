import { type RawBuilder, sql } from 'kysely';
import { isTooHeavy, limitStatements, withinConditionTime } from '../../bounded.ts';
import { columnList } from '../../columns.ts';
import {
  type ContactFilter,
  contactOrder,
  contactPlace,
  type ContactRow,
  type ContactsQuery,
  matchesFilter,
} from '../../contacts/contacts.ts';
import type { Database } from '../../database.ts';
import { countRows } from '../../expressions.ts';
import { membershipSql } from '../../segments/members.ts';
import { Problem } from '../../../domain/errors.ts';
import type { Condition } from '../../../domain/filter/filter.ts';
import { limits } from '../../../domain/limits.ts';

/** Contacts that match a filter and a condition. */

export interface ContactSelection extends Pick<ContactFilter, 'search' | 'subscribed'> {
  /** null: there is only the filter. */
  condition: Condition | null;
}

/** SQL that is true for matching rows of `contact` at the time `now`. */
export async function selectedSql(
  db: Database,
  projectId: string,
  { condition, ...filter }: ContactSelection,
  now: Date,
): Promise<RawBuilder<boolean>> {
  const matches = matchesFilter(projectId, filter);
  if (!condition) return matches;
  return sql<boolean>`${matches} and ${await membershipSql(db, projectId, condition, now)}`;
}

/**
 * Returns one page of the matching contacts. `total` counts all of them on the first page and is 0
 * on later ones.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function listSelected(
  db: Database,
  projectId: string,
  selection: ContactSelection,
  { after, limit, ...order }: Omit<ContactsQuery, 'filter'>,
): Promise<{ rows: ContactRow[]; total: number }> {
  return withinConditionTime(db, async (tx) => {
    const isSelected = await selectedSql(tx, projectId, selection, new Date());
    const total = after ? 0 : await countRows(tx.selectFrom('contact').where(isSelected));
    const { rows } = await sql<ContactRow>`
      select ${columnList('contact')} from contact
        where ${isSelected} and ${contactPlace({ ...order, after })}
        order by ${contactOrder(order, 'contact')} limit ${limit}`.execute(tx);
    return { rows, total };
  });
}

/** Number of contacts that an export reads at once: few, because each may have much data. */
const exportedAtOnce = 200;

/**
 * Yields all matching contacts, oldest first, page by page, from a cursor of the transaction.
 * @throws Problem CONDITION_TOO_HEAVY if a page takes too long
 */
export async function* readSelected(
  snapshot: Database,
  projectId: string,
  selection: ContactSelection,
): AsyncGenerator<ContactRow[], void, undefined> {
  await limitStatements(snapshot, limits.conditionTimeMs);
  const isSelected = await selectedSql(snapshot, projectId, selection, new Date());
  await sql`declare exported_contacts no scroll cursor for
    select ${columnList('contact')} from contact where ${isSelected}
      order by ${contactOrder({ sort: 'createdAt', dir: 'asc' }, 'contact')}`.execute(snapshot);
  try {
    for (;;) {
      const { rows } = await sql<ContactRow>`
        fetch ${sql.lit(exportedAtOnce)} from exported_contacts`.execute(snapshot);
      if (rows.length > 0) yield rows;
      if (rows.length < exportedAtOnce) return;
    }
  } catch (error) {
    throw isTooHeavy(error) ? new Problem('CONDITION_TOO_HEAVY') : error;
  }
}
