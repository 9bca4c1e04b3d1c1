import { sql } from 'kysely';
import type { Database } from '../../database.ts';
import { onlyRow } from '../../expressions.ts';

/** Statistics over whole UTC days. `from` is the start of the first of `days`. */
export interface Days {
  from: Date;
  days: number;
}

export const campaignMetrics = [
  'openedCount',
  'clickedCount',
  'sentCount',
  'openRate',
  'clickRate',
] as const;

export type CampaignMetric = (typeof campaignMetrics)[number];

export interface CampaignNumbers {
  id: string;
  name: string;
  subject: string;
  sentCount: number;
  openedCount: number;
  clickedCount: number;
  openRate: number;
  clickRate: number;
}

/** Percent of sent mail; 0 when nothing was sent. */
const rateOf = (count: string) =>
  sql<number>`case when sent_count = 0 then 0
    else ${sql.ref(count)} * 100.0::float8 / sent_count end`;

/** Returns the best campaigns, by `metric`, among the campaigns that were sent on these days. */
export async function listTopCampaigns(
  db: Database,
  projectId: string,
  given: Days & { metric: CampaignMetric; limit: number },
): Promise<CampaignNumbers[]> {
  const { rows } = await sql<CampaignNumbers>`
    select id, name, subject, sent_count as "sentCount", opened_count as "openedCount",
        clicked_count as "clickedCount", ${rateOf('opened_count')} as "openRate",
        ${rateOf('clicked_count')} as "clickRate"
      from campaign
      where project_id = ${projectId} and sent_at is not null and ${isWithin('sent_at', given)}
      order by ${sql.ref(given.metric)} desc, id desc
      limit ${given.limit}`.execute(db);
  return rows;
}

/**
 * Counts the campaigns that were created on these days: all, active and completed ones. Also
 * averages the open rate and the click rate of the completed ones.
 */
export async function findCampaignStats(db: Database, projectId: string, days: Days) {
  const averageOf = (count: string) => sql`
    coalesce(round(avg(${rateOf(count)}) filter (where status = 'SENT' and sent_count > 0)::numeric,
      1), 0)::float8`;
  const { rows } = await sql<{
    total: number;
    active: number;
    completed: number;
    averageOpenRate: number;
    averageClickRate: number;
  }>`
    select count(*)::int as total,
        count(*) filter (where status in ('SCHEDULED', 'SENDING', 'PAUSED'))::int as active,
        count(*) filter (where status = 'SENT')::int as completed,
        ${averageOf('opened_count')} as "averageOpenRate",
        ${averageOf('clicked_count')} as "averageClickRate"
      from campaign
      where project_id = ${projectId} and ${isWithin('created_at', days)}`.execute(db);
  return onlyRow(rows);
}

function isWithin(column: string, { from, days }: Days) {
  return sql<boolean>`${sql.ref(column)} >= ${from}::timestamptz
    and ${sql.ref(column)} < ${from}::timestamptz + ${days}::int * interval '24 hours'`;
}
