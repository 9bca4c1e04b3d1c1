import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { isoInstant } from '../expressions.ts';
import { audienceOf, audienceSql } from './audience.ts';
import { judgedAt, wasSubscribed } from '../sql/campaign-audience.ts';
import { hadLeftTopic } from '../sql/topic-choices.ts';
import { type LeftOutReason, leftOutReasons } from '../../domain/campaign/campaign.ts';
import type { Position } from '../../domain/cursor.ts';
import { needsSubscription } from '../../domain/mail/headers.ts';

/**
 * A campaign that a contact did not get because it was not subscribed when the audience was fixed.
 */
export interface MissedCampaign {
  id: string;
  reason: LeftOutReason;
  name: string;
  subject: string;
  /** When the audience of the campaign was fixed, to the microsecond. */
  at: string;
}

export interface MissedCampaigns {
  rows: MissedCampaign[];
  /**
   * The next page continues with campaigns older than this position; null: all have been checked.
   */
  checkedTo: Position | null;
}

/**
 * Maximum number of campaigns checked for one list, because each check reads the contact's changes
 * of consent.
 */
const checkedMax = 500;

/**
 * Lists the campaigns that a contact did not get because it was not subscribed, newest first.
 * Membership in an audience is evaluated as of now, as in `GET
 * /campaigns/{id}/recipients/{contactId}`.
 * @param query.limit maximum number of campaigns whose audience is evaluated
 */
export async function listMissedCampaigns(
  db: Database,
  contact: { id: string; project_id: string; subscribed: boolean; created_at: Date },
  query: { after?: Position | undefined; limit: number },
): Promise<MissedCampaigns> {
  const { id: contactId, project_id: projectId } = contact;
  const id = sql`${contactId}::uuid`;
  const isSubscribed = sql`${contact.subscribed}::boolean`;
  const judged = judgedAt('campaign', { id, createdAt: sql`${contact.created_at}` });
  const { rows: candidates } = await sql<Candidate>`
    with candidate as (
      select id, name, subject, frozen_at, audience_type, segment_id, audience_condition,
          follow_up_list, message_class, topic_id, ${judged} as judged_at
        from campaign
        where project_id = ${projectId} and frozen_at >= ${contact.created_at}
          and ${before(query.after)}
        order by frozen_at desc, id desc limit ${checkedMax}
    )
    select id, name, subject, ${isoInstant(sql`frozen_at`)} as at, frozen_at, audience_type,
        segment_id, audience_condition, follow_up_list, message_class,
        not exists (select from email
          where campaign_id = candidate.id and contact_id = ${contactId}) as "hasNone",
        not ${wasSubscribed({ id, isSubscribed }, sql`candidate.judged_at`)} as "isOut",
        ${hadLeftTopic(id, sql`candidate.topic_id`, sql`candidate.judged_at`)} as "hadLeft"
      from candidate order by frozen_at desc, id desc`.execute(db);
  const out = candidates.flatMap((row) => {
    const isOut = row.isOut && needsSubscription(row.message_class, 'CAMPAIGN');
    if (!row.hasNone || !(isOut || row.hadLeft)) return [];
    return [{ ...row, reason: isOut ? unsubscribed : leftTopic }];
  });
  const asked = out.slice(0, query.limit);
  const isIn = await areFor(db, contact, asked);
  const last = out.length > asked.length ? asked.at(-1) : candidates.at(checkedMax - 1);
  return {
    rows: asked.filter((_, index) => isIn[index]),
    checkedTo: last ? { value: last.at, id: last.id } : null,
  };
}

const [unsubscribed, leftTopic] = leftOutReasons;

interface Candidate extends Omit<MissedCampaign, 'reason'> {
  frozen_at: Date;
  audience_type: string;
  segment_id: string | null;
  audience_condition: unknown;
  follow_up_list: string | null;
  message_class: string;
  /** True if the contact got no mail from the campaign. */
  hasNone: boolean;
  /** True if the contact was unsubscribed at the time `judgedAt`. */
  isOut: boolean;
  /** True if the contact was not subscribed to the campaign's topic at the time `judgedAt`. */
  hadLeft: boolean;
}

function before(after: Position | undefined): RawBuilder<unknown> {
  if (!after) return sql`true`;
  return sql`(frozen_at, id) < (${after.value}::timestamptz, ${after.id}::uuid)`;
}

/** Returns, for each of these audiences, true if a contact belongs to it. */
async function areFor(
  db: Database,
  { id, project_id: projectId }: { id: string; project_id: string },
  campaigns: readonly Candidate[],
): Promise<boolean[]> {
  if (campaigns.length === 0) return [];
  const conditions: RawBuilder<boolean>[] = [];
  for (const campaign of campaigns) {
    const holds = await audienceSql(db, projectId, audienceOf(campaign), campaign.frozen_at);
    conditions.push(sql<boolean>`coalesce(${holds}, false)`);
  }
  const { rows } = await sql<{ isIn: boolean[] }>`
    select array[${sql.join(conditions)}] as "isIn" from contact
      where project_id = ${projectId} and id = ${id}`.execute(db);
  return rows[0]?.isIn ?? [];
}
