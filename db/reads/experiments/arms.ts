import { type RawBuilder, sql } from 'kysely';
import type { CampaignRef } from '../../campaigns/campaigns.ts';
import type { Database } from '../../database.ts';
import type { ArmCounts, Experiment } from '../../../domain/experiment/experiment.ts';

/** Counts of the mail of an arm in the test group. */
export interface ArmMail extends ArmCounts {
  recipients: number;
  delivered: number;
  humanOpened: number;
  humanClicked: number;
  /** Messages with at least one conversion, and the value of all conversions. */
  converted: number;
  value: number;
}

/** Counts the mail of each arm of a campaign's test group, in the order of the arms. */
export async function countArms(
  db: Database,
  { projectId, campaignId }: CampaignRef,
  experiment: Experiment,
): Promise<ArmMail[]> {
  const { rows } = await sql<ArmMail>`
    select arm as id, count(*)::int as recipients, count(sent_at)::int as sent,
        count(delivered_at)::int as delivered, count(human_opened_at)::int as "humanOpened",
        count(human_clicked_at)::int as "humanClicked", count(converted_at)::int as converted,
        count(sent_at) filter (where ${isHit(experiment)})::int as hits
      from email where campaign_id = ${campaignId} and project_id = ${projectId}
        and arm is not null
      group by arm`.execute(db);
  const { rows: values } = await sql<{ id: string; value: number }>`
    select arm as id, sum(conversion.value)::float8 as value
      from conversion join email on email.id = conversion.email_id
      where owner_id = ${campaignId} and conversion.project_id = ${projectId} and arm is not null
      group by arm`.execute(db);
  const valued = new Map(values.map(({ id, value }) => [id, value]));
  const counted = new Map(rows.map((row) => [row.id, row]));
  return experiment.arms.map(({ id }) => ({
    ...(counted.get(id) ?? none),
    id,
    value: valued.get(id) ?? 0,
  }));
}

const none = {
  recipients: 0,
  sent: 0,
  delivered: 0,
  humanOpened: 0,
  humanClicked: 0,
  converted: 0,
  hits: 0,
};

/** SQL that is true if a sent message counts as a success of its arm. */
function isHit({ metric, eventName }: Experiment): RawBuilder<boolean> {
  if (metric === 'human_click') return sql<boolean>`human_clicked_at is not null`;
  if (metric === 'human_open') return sql<boolean>`human_opened_at is not null`;
  return sql<boolean>`exists (select from event inner_happened
    where inner_happened.contact_id = email.contact_id
      and inner_happened.project_id = email.project_id and inner_happened.name = ${eventName}
      and inner_happened.created_at > email.sent_at)`;
}
