import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../../domain/cursor.ts';
import { lowerAscii } from '../../../domain/email-address.ts';
import { needsSubscription } from '../../../domain/mail/headers.ts';
import type { LeftOutReason } from '../../../domain/campaign/campaign.ts';
import { withinConditionTime } from '../../bounded.ts';
import type { CampaignRow } from '../../campaigns/campaigns.ts';
import type { Database } from '../../database.ts';
import { judgedAt, wasSubscribed } from '../../sql/campaign-audience.ts';
import { hadLeftTopic } from '../../sql/topic-choices.ts';
import { audienceOf, audienceSql } from '../audience.ts';
import type { RecipientPage } from './recipients.ts';

export interface LeftOutContact {
  id: string;
  email: string;
  created_at: Date;
}

/**
 * Lists the contacts that a campaign has left out because they were not subscribed when its
 * audience was fixed, newest contact first. Before the audience is fixed, the list is empty.
 * Membership in the audience is evaluated as of now, as in `GET
 * /campaigns/{id}/recipients/{contactId}`.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function listLeftOut(
  db: Database,
  campaign: CampaignRow,
  { reason, search }: { reason: LeftOutReason; search?: string | undefined },
  { after, limit }: { after: Position | undefined; limit: number },
): Promise<RecipientPage<LeftOutContact>> {
  const { frozen_at: frozenAt, project_id: projectId } = campaign;
  if (frozenAt === null) return { rows: [], next: null, total: 0 };
  return withinConditionTime(db, async (tx) => {
    const isIn = await audienceSql(tx, projectId, audienceOf(campaign), frozenAt);
    // With the project as a constant, the index of contacts returns them in order.
    const from = sql`from contact cross join campaign
      where contact.project_id = ${projectId} and campaign.id = ${campaign.id}
        and contact.created_at <= ${frozenAt}
        and ${search === undefined ? sql`true` : sql`position(${lowerAscii(search)} in contact.email) > 0`}
        and ${isOut(campaign, reason)}
        and ${isIn}
        -- Not not exists, for which PostgreSQL would read all mail of the campaign for one page.
        and (select email.id from email where email.campaign_id = campaign.id
          and email.contact_id = contact.id) is null`;
    const isAfter = after
      ? sql`(contact.created_at, contact.id) < (${after.value}, ${after.id})`
      : sql`true`;
    const { rows: found } = await sql<LeftOutContact>`
      select contact.id, contact.email, contact.created_at ${from} and ${isAfter}
        order by contact.created_at desc, contact.id desc limit ${limit + 1}`.execute(tx);
    const counted = after
      ? []
      : (await sql<{ total: number }>`select count(*)::int as total ${from}`.execute(tx)).rows;
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    return {
      rows,
      next: last ? { value: last.created_at.toISOString(), id: last.id } : null,
      total: counted[0]?.total ?? 0,
    };
  });
}

/**
 * SQL of a contact that was left out for this reason. A missing subscription takes precedence over
 * the topic.
 */
function isOut(campaign: CampaignRow, reason: LeftOutReason): RawBuilder<unknown> {
  const id = sql`contact.id`;
  const at = judgedAt('campaign', { id, createdAt: sql`contact.created_at` });
  const isNeeded = needsSubscription(campaign.message_class, 'CAMPAIGN');
  const subscribed = wasSubscribed({ id, isSubscribed: sql`contact.subscribed` }, at);
  if (reason === 'unsubscribed_at_freeze') return isNeeded ? sql`not ${subscribed}` : sql`false`;
  const hadLeft = hadLeftTopic(id, sql`campaign.topic_id`, at);
  return isNeeded ? sql`${hadLeft} and ${subscribed}` : hadLeft;
}
