import { type RawBuilder, sql } from 'kysely';
import { withinConditionTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { countRows } from '../expressions.ts';
import { listConditionsFor } from '../segments/segments.ts';
import { conditionSql } from '../sql/filter.ts';
import { hasLeftTopic } from '../sql/topic-choices.ts';
import { findAddresses } from '../suppression/keys.ts';
import { findSuppressions } from '../suppression/marks.ts';
import type { CampaignAudience } from '../../domain/campaign/campaign.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { isSuppressed } from '../../domain/mail/suppression.ts';
import type { Condition } from '../../domain/filter/filter.ts';
import { needsSubscription } from '../../domain/mail/headers.ts';

const nobody = sql<boolean>`false`;
const everybody = sql<boolean>`true`;

/**
 * SQL that is true for a row of `contact` that belongs to the audience at the time `now`.
 * Subscriptions are ignored: see `mayReceive`.
 */
export async function audienceSql(
  db: Database,
  projectId: string,
  audience: CampaignAudience,
  now: Date,
): Promise<RawBuilder<boolean>> {
  if (audience.type === 'FOLLOW_UP') return isListed(audience.listId);
  const condition = conditionOf(audience);
  if (condition === 'all') return everybody;
  if (condition === null) return nobody;
  const segments = await listConditionsFor(db, projectId, condition);
  return conditionSql(condition, { now, segments, projectId });
}

function isListed(listId: string | null): RawBuilder<boolean> {
  return sql<boolean>`exists (select from follow_up_recipient inner_listed
    where inner_listed.list_id = ${listId} and inner_listed.contact_id = contact.id)`;
}

/**
 * Returns the condition of an audience; null: its segment was deleted, so the audience is empty.
 */
function conditionOf(audience: CampaignAudience): Condition | 'all' | null {
  if (audience.type === 'ALL') return 'all';
  if (audience.type === 'FILTERED') return audience.condition;
  if (audience.segmentId === null) return null;
  const field = `segment.${audience.segmentId}`;
  return { logic: 'AND', groups: [{ filters: [{ field, operator: 'memberOfSegment' }] }] };
}

/** Properties of a campaign, besides its audience, that decide which contacts get its mail. */
export interface MailKind {
  messageClass: string;
  /** null: no topic. */
  topicId: string | null;
}

export function kindOf(row: { message_class: string; topic_id: string | null }): MailKind {
  return { messageClass: row.message_class, topicId: row.topic_id };
}

/**
 * SQL that is true if a contact may get mail of a kind.
 * @param contact the table or its alias.
 */
export function mayReceive(
  { messageClass, topicId }: MailKind,
  contact = 'contact',
): RawBuilder<boolean> {
  const isSubscribed = isSubscribedFor({ messageClass }, contact);
  if (topicId === null) return isSubscribed;
  const hasLeft = hasLeftTopic(sql.ref(`${contact}.id`), sql`${topicId}::uuid`);
  return sql<boolean>`${isSubscribed} and not ${hasLeft}`;
}

/**
 * SQL that is true if a contact has the subscription that this kind of mail requires.
 * @param contact the table or its alias.
 */
export function isSubscribedFor(
  { messageClass }: Pick<MailKind, 'messageClass'>,
  contact = 'contact',
): RawBuilder<boolean> {
  const isNeeded = needsSubscription(messageClass, 'CAMPAIGN');
  return isNeeded ? sql<boolean>`${sql.ref(`${contact}.subscribed`)}` : everybody;
}

export function audienceOf(row: {
  audience_type: string;
  segment_id: string | null;
  audience_condition: unknown;
  follow_up_list: string | null;
}): CampaignAudience {
  return {
    type: row.audience_type as CampaignAudience['type'],
    segmentId: row.segment_id,
    condition: row.audience_condition as Condition | null,
    listId: row.follow_up_list,
  };
}

/**
 * Counts the contacts that a campaign would be sent to if it started now.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function countAudience(
  db: Database,
  projectId: string,
  audience: CampaignAudience,
  kind: MailKind,
): Promise<number> {
  return withinConditionTime(db, async (tx) => {
    const holds = await audienceSql(tx, projectId, audience, new Date());
    return countRows(
      tx
        .selectFrom('contact')
        .where('project_id', '=', projectId)
        .where(sql<boolean>`(${mayReceive(kind)})`)
        .where(holds),
    );
  });
}

/** Returns true if a contact belongs to an audience, whatever its subscription. */
export async function isInAudience(
  db: Database,
  projectId: string,
  audience: CampaignAudience,
  contactId: string,
  now: Date,
): Promise<boolean> {
  const holds = await audienceSql(db, projectId, audience, now);
  const row = await db
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .where('id', '=', contactId)
    .where(holds)
    .executeTakeFirst();
  return row !== undefined;
}

/** Numbers of contacts in an audience, as if it were fixed now. */
export interface AudienceSizes {
  /** Contacts that would be sent to. */
  recipients: number;
  /** Contacts that would be left out because they are not subscribed. */
  unsubscribed: number;
  /** Subscribed contacts that would be left out because they have left the topic. */
  topicUnsubscribed: number;
  /** Number of `recipients` that are on the suppression list. */
  suppressed: number;
}

/**
 * Counts the contacts of an audience.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function measureAudience(
  db: Database,
  projectId: string,
  audience: CampaignAudience,
  kind: MailKind,
): Promise<AudienceSizes> {
  return withinConditionTime(db, async (tx) => {
    const isIn = await audienceSql(tx, projectId, audience, new Date());
    const isSubscribed = isSubscribedFor(kind);
    const isRecipient = mayReceive(kind);
    const { rows } = await sql<Omit<AudienceSizes, 'suppressed'>>`
      select count(*) filter (where ${isRecipient})::int as recipients,
          count(*) filter (where not ${isSubscribed})::int as unsubscribed,
          count(*) filter (where ${isSubscribed} and not (${isRecipient}))::int as "topicUnsubscribed"
        from contact where project_id = ${projectId} and ${isIn}`.execute(tx);
    const recipients = sql`contact where project_id = ${projectId} and ${isIn} and ${isRecipient}`;
    return {
      ...rows[0]!,
      suppressed: await countSuppressed(tx, projectId, kind.messageClass, recipients),
    };
  });
}

/** Number of addresses that are looked up in the suppression list at once. */
const lookedUpAtOnce = 2_000;

/**
 * Counts the contacts whose addresses are on the suppression list. The list contains hashes, so
 * this process reads and hashes the addresses, page by page.
 * @param from SQL after `from`, with a condition
 */
async function countSuppressed(
  tx: Database,
  projectId: string,
  messageClass: string,
  from: RawBuilder<unknown>,
): Promise<number> {
  const addresses = await findAddresses(tx, projectId);
  if (!addresses) return 0;
  await sql`declare audience_addresses no scroll cursor for select email from ${from}`.execute(tx);
  const end = Date.now() + limits.conditionTimeMs;
  for (let count = 0; ;) {
    const { rows } = await sql<{ email: string }>`
      fetch ${sql.lit(lookedUpAtOnce)} from audience_addresses`.execute(tx);
    const emails = rows.map(({ email }) => email);
    const entries = await findSuppressions(tx, addresses, emails);
    count += [...entries.values()].filter((entry) => isSuppressed(entry, messageClass)).length;
    if (rows.length < lookedUpAtOnce) return count;
    if (Date.now() > end) throw new Problem('CONDITION_TOO_HEAVY');
  }
}
