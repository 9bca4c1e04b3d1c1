import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** Mail of a project or campaign that waits for the operator after a restore. */
export interface HeldMailGroup {
  /** The public id. */
  projectId: string;
  campaignId: string | null;
  /** Number of messages; of a campaign that has not begun, of its recipients. */
  held: number;
  /** When the oldest and the newest was made. */
  from: Date | null;
  to: Date | null;
}

/** Lists the held mail by project and campaign. */
export async function listHeldMail(db: Database): Promise<HeldMailGroup[]> {
  const { rows } = await sql<HeldMailGroup>`
    with mail as (
      select email.project_id, email.campaign_id, count(*)::int as held,
          min(email.created_at) as "from", max(email.created_at) as "to"
        from email_queue join email on email.id = email_queue.email_id
        where email_queue.hold_reason = 'operator' group by 1, 2
    ), campaigns as (
      select campaign.project_id, campaign.id, case when status = 'SCHEDULED' then total_recipients
            else coalesce((select sum(cardinality(email_ids)) from campaign_chunk
              where campaign_id = campaign.id and attempt_id is null), 0) end as held,
          campaign.created_at as "from"
        from campaign where held_at is not null
    )
    select coalesce(project.public_id, project.id) as "projectId",
        coalesce(mail.campaign_id, campaigns.id) as "campaignId",
        (coalesce(mail.held, 0) + coalesce(campaigns.held, 0))::int as held,
        coalesce(mail."from", campaigns."from") as "from", coalesce(mail."to", campaigns."from") as "to"
      from mail full join campaigns on campaigns.id = mail.campaign_id
      join project on project.id = coalesce(mail.project_id, campaigns.project_id)
      order by 1, 2`.execute(db);
  return rows;
}
