import { type RawBuilder, sql } from 'kysely';
import { endChunk } from '../../campaigns/chunks.ts';
import { type Database, transact } from '../../database.ts';
import { isoTime } from '../../expressions.ts';
import {
  contentArm,
  firstAttemptAt,
  isBound,
  isSenderGone,
  trackingHost,
} from '../../sql/mail-claims.ts';
import { isPolicedCampaign } from '../../sql/send-policy.ts';
import { hasLeftTopic } from '../../sql/topic-choices.ts';
import { findSuppressionsOf } from '../../suppression/marks.ts';
import type { Withheld } from './claims.ts';
import { decideClaimed } from './hold-back.ts';
import { type ProviderChooser, recordRouted, type Routed } from './provider-claims.ts';
import type { MessageClass } from '../../../domain/mail/headers.ts';
import type { Suppression } from '../../../domain/mail/suppression.ts';
import type { TrackingSetting } from '../../../domain/mail/tracking-setting.ts';

/** Claims the messages of campaigns, a chunk at a time, with all data needed to send them. */

/** A claimed message of a campaign, with the data it is made from. */
export interface CampaignEmail {
  id: string;
  project_id: string;
  contact_id: string;
  to_email: string;
  from_email: string;
  from_name: string;
  reply_to: string | null;
  message_class: MessageClass;
  source_type: 'CAMPAIGN';
  content_version: number;
  /** Experiment arm of the content; empty: the campaign has no experiment. */
  content_arm: string;
  attempts: number;
  created_at: Date;
  scheduled_for: Date | null;
  held_until: Date | null;
  /** Start of the first attempt; null: none was made. */
  first_attempt_at: string | null;
  billed_units: number;
  allowance_month: unknown;
  contact_email: string;
  contact_subscribed: boolean;
  contact_data: Record<string, unknown> | null;
  project_disabled: boolean;
  sender_gone: boolean;
  /** True if the contact is being erased. */
  contact_gone: boolean;
  /** Entry of the suppression list for `to_email`; null: there is none. */
  suppression: Suppression | null;
  topic_left: boolean;
  topic_id: string | null;
  provider_id: string | null;
  /**
   * True if `provider_id` may have accepted the message already, so no other provider may get it.
   */
  is_bound: boolean;
  project_language: string;
  project_tracking: TrackingSetting;
  /** Host of tracked links; null: that of the API. */
  tracking_host: string | null;
  /** True if the project has no paid subscription, so its mail has the badge. */
  has_badge: boolean;
}

/**
 * Claims the next due chunk of a campaign. Returns it with its messages, except those that the send
 * policy holds back or that wait for a mail provider; undefined: no chunk is due, or the campaign
 * is not sending.
 */
export async function claimCampaignEmails(
  db: Database,
  projectId: string,
  claim: ChunkClaim,
): Promise<{ chunk: ClaimedChunk; emails: (CampaignEmail & Withheld & Routed)[] } | undefined> {
  const { campaignId, attemptId, chooser = null } = claim;
  const campaign = { id: campaignId, projectId };
  if (!claim.isPoliced && !chooser) {
    const chunk = await claimChunk(db, claim);
    return chunk && { chunk, emails: await withShared(db, projectId, chunk) };
  }
  return transact(db, async (tx) => {
    const chunk = await claimChunk(tx, claim);
    if (!chunk) return undefined;
    const claimed = await withShared(tx, projectId, chunk);
    const decided = await decideClaimed(tx, { ...claim, projectId, chooser }, claimed);
    const { going: emails, waits, assigned } = decided;
    await recordRouted(tx, chunk, assigned);
    if (emails.length < claimed.length) {
      const left = emails.map(({ id }) => id);
      await endChunk(tx, campaign, attemptId, { left, again: new Map(), waits });
    }
    return { chunk, emails };
  });
}

/** Returns the messages of a claimed chunk, with the values they share. */
async function withShared(
  db: Database,
  projectId: string,
  { shared, emails }: ClaimedChunk,
): Promise<CampaignEmail[]> {
  const suppressions = shared.hasSuppressions
    ? await findSuppressionsOf(db, projectId, emails)
    : undefined;
  // Written out, because in V8 an object that is spread and then extended is slow.
  return emails.map((row) => ({
    id: row.id,
    project_id: projectId,
    contact_id: row.contact_id,
    to_email: row.to_email,
    from_email: row.from_email,
    from_name: shared.fromName,
    reply_to: shared.replyTo,
    message_class: row.message_class,
    source_type: 'CAMPAIGN',
    content_version: shared.contentVersion,
    content_arm: shared.contentArm,
    attempts: row.attempts,
    created_at: new Date(row.created_at),
    scheduled_for: dateOrNull(row.scheduled_for),
    held_until: dateOrNull(row.held_until),
    first_attempt_at: row.first_attempt_at,
    billed_units: row.billed_units,
    allowance_month: row.allowance_month,
    contact_email: row.contact_email,
    contact_subscribed: row.contact_subscribed,
    contact_data: row.contact_data,
    project_disabled: shared.isProjectDisabled,
    sender_gone: row.sender_gone,
    contact_gone: row.contact_gone,
    suppression: suppressions?.get(row.to_email) ?? null,
    topic_left: row.topic_left,
    topic_id: shared.topicId,
    provider_id: row.provider_id,
    is_bound: row.is_bound,
    project_language: shared.language,
    project_tracking: shared.tracking,
    tracking_host: shared.trackingHost,
    has_badge: shared.hasBadge,
  }));
}

function dateOrNull(milliseconds: number | null): Date | null {
  return milliseconds === null ? null : new Date(milliseconds);
}

export interface ClaimedChunk {
  /** The attempt that has claimed the chunk. */
  attemptId: string;
  /**
   * `dueAt`: when the chunk was due. `claimedAt`: when the chunk was claimed. Both are ISO times.
   */
  dueAt: string;
  claimedAt: string;
  shared: SharedByChunk;
  /** The messages of the chunk that still wait, in order. */
  emails: ClaimedMessage[];
}

/** Values that the messages of a claimed chunk share, at the time of the claim. */
interface SharedByChunk {
  /**
   * Maximum number of messages that the campaign may send per minute; null: the campaign sets no
   * limit.
   */
  maxPerMinute: number | null;
  /** Consecutive refusals by the provider so far. */
  refusedInRow: number;
  /** Version of the newest content of their campaign. */
  contentVersion: number;
  /** The arm of an experiment; empty: there is none. */
  contentArm: string;
  fromName: string;
  replyTo: string | null;
  topicId: string | null;
  isProjectDisabled: boolean;
  language: string;
  tracking: TrackingSetting;
  trackingHost: string | null;
  /** True if their project has no paid subscription, so the mail has the badge. */
  hasBadge: boolean;
  /** True if their project has, or has had, a suppression list. */
  hasSuppressions: boolean;
}

/**
 * SQL of the values that the messages of a claimed chunk share.
 * @param emailId one of the messages of the chunk
 */
function sharedBy(campaignId: string, emailId: RawBuilder<unknown>): RawBuilder<SharedByChunk> {
  return sql`(select jsonb_build_object('maxPerMinute', inner_campaign.max_per_minute,
      'refusedInRow', inner_campaign.refused_in_row, 'contentVersion', inner_content.version,
      'contentArm', inner_content.arm,
      'fromName', inner_content.from_name, 'replyTo', inner_content.reply_to,
      'topicId', inner_campaign.topic_id,
      'isProjectDisabled', inner_project.disabled_reason is not null,
      'language', inner_project.language, 'tracking', inner_project.tracking,
      'trackingHost', ${trackingHost('inner_content')},
      'hasBadge', inner_project.subscription is null,
      'hasSuppressions', exists (select from suppression_key inner_key
        where inner_key.owner_id = coalesce(inner_project.public_id, inner_project.id)))
    from campaign inner_campaign
    join campaign_content inner_content on inner_content.campaign_id = inner_campaign.id
      and inner_content.version = inner_campaign.content_version
      and inner_content.arm = ${contentArm('inner_campaign', emailId)}
    join project inner_project on inner_project.id = inner_campaign.project_id
    where inner_campaign.id = ${campaignId})`;
}

/**
 * Data of one message of a claimed chunk, with the values that are checked right before it is sent.
 */
interface ClaimedMessage {
  id: string;
  contact_id: string;
  to_email: string;
  from_email: string;
  message_class: MessageClass;
  attempts: number;
  /**
   * `created_at`, `scheduled_for` and `held_until` are in milliseconds since 1970; null if the
   * column is null.
   */
  created_at: number;
  scheduled_for: number | null;
  held_until: number | null;
  first_attempt_at: string | null;
  billed_units: number;
  allowance_month: string | null;
  contact_email: string;
  contact_subscribed: boolean;
  contact_data: Record<string, unknown> | null;
  sender_gone: boolean;
  contact_gone: boolean;
  topic_left: boolean;
  provider_id: string | null;
  is_bound: boolean;
}

/**
 * SQL that selects claimed messages as one JSON value, because the driver takes long for the
 * columns of many rows.
 */
function claimedMessages(ids: RawBuilder<unknown>): RawBuilder<ClaimedMessage[]> {
  const milliseconds = (at: string) =>
    sql`extract(epoch from ${sql.ref(`inner_mail.${at}`)}) * 1000`;
  return sql`(select coalesce(json_agg(message order by message.id), '[]') from (
    select inner_mail.id, inner_mail.contact_id, inner_mail.to_email, inner_mail.from_email,
        inner_mail.message_class, inner_mail.attempts + 1 as attempts,
        ${milliseconds('created_at')} as created_at,
        ${milliseconds('scheduled_for')} as scheduled_for,
        ${milliseconds('held_until')} as held_until,
        case when inner_mail.attempts > 0
          then ${firstAttemptAt('inner_mail')} end as first_attempt_at,
        inner_mail.billed_units, inner_mail.allowance_month, inner_mail.provider_id,
        ${isBound('inner_mail')} as is_bound, inner_receiver.email as contact_email,
        inner_receiver.subscribed as contact_subscribed, inner_receiver.data as contact_data,
        ${isSenderGone('inner_mail')} as sender_gone,
        inner_receiver.project_id <> inner_mail.project_id as contact_gone,
        ${hasLeftTopic(sql`inner_mail.contact_id`, sql`inner_mail.topic_id`)} as topic_left
      from email inner_mail
      join contact inner_receiver on inner_receiver.id = inner_mail.contact_id
      where inner_mail.id = any(${ids}) and inner_mail.status = 'PENDING') as message)`;
}

export interface ChunkClaim {
  campaignId: string;
  attemptId: string;
  max: number;
  leaseSeconds: number;
  /**
   * True if the caller checks the messages against the send policy. If false, nothing is claimed
   * while a policy may hold back the campaign's mail.
   */
  isPoliced?: boolean;
  /** null: all mail goes to the default provider. */
  chooser?: ProviderChooser | null;
}

/**
 * Claims the next due chunk of a sending campaign for one attempt. If it has more than `max`
 * messages, the rest stays in the queue.
 */
async function claimChunk(db: Database, given: ChunkClaim): Promise<ClaimedChunk | undefined> {
  const { rows } = await sql<Omit<ClaimedChunk, 'attemptId'>>`
    with due as (
      select campaign_id, number, project_id, email_ids, due_at from campaign_chunk
        where campaign_id = ${given.campaignId} and attempt_id is null and due_at <= now()
          and exists (select from campaign
            where id = ${given.campaignId} and status = 'SENDING' and held_at is null
              and (${given.isPoliced ?? false} or not ${isPolicedCampaign('campaign')}))
        order by due_at, number
        limit 1
        for update skip locked
    ), rest as (
      insert into campaign_chunk (campaign_id, project_id, email_ids, due_at)
        select campaign_id, project_id, email_ids[${given.max}::int + 1:], due_at from due
          where cardinality(email_ids) > ${given.max}::int
    ), claimed as (
      update campaign_chunk as chunk set
          -- Only those that still wait, so that one which is deleted later was claimed: see expireChunks.
          email_ids = array(select id from email where id = any(due.email_ids[:${given.max}::int])
            and status = 'PENDING'), attempt_id = ${given.attemptId}, waits_for = null,
          claimed_at = now(), lease_until = now() + make_interval(secs => ${given.leaseSeconds})
        from due
        where chunk.campaign_id = due.campaign_id and chunk.number = due.number
        returning chunk.email_ids, due.due_at, chunk.claimed_at
    )
    select ${isoTime(sql`due_at`)} as "dueAt", ${isoTime(sql`claimed_at`)} as "claimedAt",
        ${sharedBy(given.campaignId, sql`claimed.email_ids[1]`)} as shared, ${claimedMessages(sql`claimed.email_ids`)} as emails
      from claimed`.execute(db);
  const [claimed] = rows;
  return claimed && { ...claimed, attemptId: given.attemptId };
}
