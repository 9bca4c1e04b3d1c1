import { sql } from 'kysely';
import type { Feedback } from '../../domain/mail/feedback.ts';
import type { Database } from '../database.ts';

/** Counts reports of other servers about the mail of a project, by hour. */

/** Numbers of reports in the last 24 hours, to the hour, and the time of the last report. */
export interface ReportCounts {
  lastAt: Date | null;
  delivered: number;
  bounced: number;
  delayed: number;
  complained: number;
}

/**
 * Counts reports in the caller's transaction. Call it last, because other transactions with reports
 * of the same projects wait until this transaction ends.
 */
export async function countReports(
  tx: Database,
  reports: readonly { projectId: string; kind: Feedback['kind'] }[],
): Promise<void> {
  if (reports.length === 0) return;
  const counted = (kind: Feedback['kind']) =>
    sql`count(*) filter (where kind = ${sql.lit(kind)})::int`;
  const plus = (column: string) =>
    sql`case when known.hour = excluded.hour then known.${sql.ref(column)} else 0 end
      + excluded.${sql.ref(column)}`;
  // Each hour reuses the row of the same hour of the day before.
  await sql`
    insert into report_count as known (project_id, slot, hour, delivered, bounced, delayed,
        complained, last_at)
      select project_id, extract(hour from now() at time zone 'UTC')::int,
          date_trunc('hour', now(), 'UTC'), ${counted('delivery')}, ${counted('bounce')},
          ${counted('delayed')}, ${counted('complaint')}, clock_timestamp()
        from unnest(${reports.map(({ projectId }) => projectId)}::uuid[],
          ${reports.map(({ kind }) => kind)}::text[]) as report(project_id, kind)
        group by project_id order by project_id
      on conflict (project_id, slot) do update set
        delivered = ${plus('delivered')}, bounced = ${plus('bounced')},
        delayed = ${plus('delayed')}, complained = ${plus('complained')},
        hour = excluded.hour, last_at = excluded.last_at`.execute(tx);
}

/** Reads at most 24 rows. */
export async function readReportCounts(db: Database, projectId: string): Promise<ReportCounts> {
  const recent = (column: string) =>
    sql<number>`coalesce(sum(${sql.ref(column)}) filter (where hour > now() - interval '24 hours'), 0)::int`;
  return db
    .selectFrom('report_count')
    .select(({ fn }) => fn.max('last_at').as('lastAt'))
    .select([
      recent('delivered').as('delivered'),
      recent('bounced').as('bounced'),
      recent('delayed').as('delayed'),
      recent('complained').as('complained'),
    ])
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
}
