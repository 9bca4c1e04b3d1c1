import { sql } from 'kysely';
import { columnList } from './columns.ts';
import type { Database } from './database.ts';
import { readBodies } from './email-bodies.ts';
import type { EmailRow } from './emails.ts';
import type { TraceEntry } from './trace.ts';

/** Reading the ledger: messages as they were sent. */

/** A message with its body and its trace, as far as they are kept. */
export type EmailRecord = Omit<EmailRow, 'trace'> & { trace: TraceEntry[] };

export interface EmailQuery {
  contactId?: string | undefined;
  campaignId?: string | undefined;
  executionId?: string | undefined;
  status?: string | undefined;
  sourceType?: string | undefined;
  after?: { value: string; id: string } | undefined;
  limit: number;
}

/** A moment that rows of a status have, and by which an index finds them. */
const momentOf: Record<string, string> = {
  OPENED: 'opened_at',
  CLICKED: 'clicked_at',
  BOUNCED: 'bounced_at',
  COMPLAINED: 'complained_at',
};

function matching(projectId: string, query: EmailQuery) {
  const { contactId, campaignId, executionId, status, sourceType } = query;
  const moment = status && momentOf[status];
  return sql.join(
    [
      sql`project_id = ${projectId}`,
      ...(contactId ? [sql`contact_id = ${contactId}`] : []),
      ...(campaignId ? [sql`campaign_id = ${campaignId}`] : []),
      ...(executionId ? [sql`workflow_execution_id = ${executionId}`] : []),
      ...(status ? [sql`status = ${sql.lit(status)}`] : []),
      ...(moment ? [sql`${sql.ref(moment)} is not null`] : []),
      ...(sourceType ? [sql`source_type = ${sql.lit(sourceType)}`] : []),
    ],
    sql` and `,
  );
}

/** Messages of a project, newest first, and how many match; 0 when the list goes on. */
export async function listEmails(
  db: Database,
  projectId: string,
  query: EmailQuery,
): Promise<{ rows: EmailRecord[]; total: number }> {
  const { after, limit } = query;
  const matches = matching(projectId, query);
  const { rows } = await sql<EmailRecord>`
    select ${columnList('email')} from email where ${matches}
        and ${after ? sql`(created_at, id) < (${after.value}, ${after.id})` : sql`true`}
      order by created_at desc, id desc
      limit ${limit}`.execute(db);
  const counted = after
    ? []
    : (
        await sql<{ total: number }>`
        select count(*)::int as total from email where ${matches}`.execute(db)
      ).rows;
  return { rows: await withBodies(db, projectId, rows), total: counted[0]?.total ?? 0 };
}

export async function findEmail(
  db: Database,
  projectId: string,
  id: string,
): Promise<EmailRecord | undefined> {
  const { rows } = await sql<EmailRecord>`
    select ${columnList('email')} from email
      where project_id = ${projectId} and id = ${id}`.execute(db);
  const [row] = await withBodies(db, projectId, rows);
  return row;
}

/** Puts in the bodies that are kept in another form. */
async function withBodies(
  db: Database,
  projectId: string,
  rows: EmailRecord[],
): Promise<EmailRecord[]> {
  const bodies = await readBodies(
    db,
    projectId,
    rows.map((row) => ({ ...row, email_id: row.id })),
  );
  return rows.map((row, index) => ({ ...row, body: bodies[index] ?? null }));
}
