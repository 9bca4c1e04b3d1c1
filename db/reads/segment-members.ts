import { sql } from 'kysely';
import { withinConditionTime } from '../bounded.ts';
import { columnList } from '../columns.ts';
import type { ContactRow } from '../contacts/contacts.ts';
import type { Database } from '../database.ts';
import { membershipSql } from '../segments/members.ts';
import type { SegmentRow } from '../segments/segments.ts';

export interface MembersQuery {
  page: number;
  pageSize: number;
  /**
   * Absent: by the time of joining in a STATIC segment, by the contact's creation in other
   * segments.
   */
  sort?: 'createdAt' | 'email' | undefined;
  dir: 'asc' | 'desc';
}

/**
 * Returns one page of the contacts in a segment at the time `now`, and their total number.
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
