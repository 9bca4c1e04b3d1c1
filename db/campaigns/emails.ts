import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { CampaignAudience } from '../../domain/campaign/campaign.ts';
import type { TextTemplate } from '../../domain/mail/skeleton.ts';
import type { TrackingSetting } from '../../domain/mail/tracking.ts';
import { audienceSql, mayReceive } from './audience.ts';
import { suppressedBy } from '../emails/campaign-progress.ts';
import type { CampaignRow } from './campaigns.ts';
import { columnList, references } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { claimed, firstAttemptAt } from '../emails/emails.ts';
import type { MessageClass } from '../../domain/mail/headers.ts';
import { millisecondsUntil } from '../expressions.ts';

/** The messages of campaigns: how they are inserted and claimed. */

/** Contacts read in one step while the audience is fixed. */
const freezePage = 5_000;

/**
 * Inserts the messages of the next contacts, in the order in which the contacts were created. Only
 * contacts that existed when the campaign started are included. Returns whether there is more to
 * do. It may be repeated, and two may run at once: the second changes nothing.
 */
export async function insertCampaignEmails(
  db: Database,
  campaign: CampaignRow,
  audience: CampaignAudience,
): Promise<{ isMore: boolean }> {
  const { id, project_id: projectId, frozen_at: frozenAt } = campaign;
  if (campaign.status !== 'SENDING' || frozenAt === null || campaign.audience_fixed) {
    return { isMore: false };
  }
  const holds = await audienceSql(db, projectId, audience, frozenAt);
  const after =
    campaign.frozen_to_id === null
      ? sql`true`
      : sql`(created_at, id) > (${campaign.frozen_to_at}, ${campaign.frozen_to_id})`;
  return transact(db, async (tx) => {
    const { rows } = await sql<{ looked_at: number; at: Date | null; id: string | null }>`
      with page as materialized (
        select ${columnList('contact')} from contact
          where project_id = ${projectId} and created_at <= ${frozenAt} and ${after}
          order by created_at, id limit ${freezePage}
      ), made as (
        insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
            source_type, template_id, campaign_id)
          select ${projectId}, contact.id, contact.email, ${campaign.subject},
              ${campaign.from_email}, ${campaign.message_class}, 'CAMPAIGN',
              ${campaign.template_id}, ${id}
            from page as contact
            where ${mayReceive(campaign.message_class)} and ${holds}
            order by contact.created_at, contact.id
          on conflict (campaign_id, contact_id) where campaign_id is not null do nothing
      )
      select count(*)::int as looked_at,
          (array_agg(created_at order by created_at desc, id desc))[1] as at,
          (array_agg(id order by created_at desc, id desc))[1] as id
        from page`.execute(tx);
    const [last] = rows;
    const isMore = last?.looked_at === freezePage;
    const { rows: noted } = await sql`
      update campaign set
          frozen_to_at = coalesce(${last?.at ?? null}, frozen_to_at),
          frozen_to_id = coalesce(${last?.id ?? null}, frozen_to_id),
          audience_fixed = ${!isMore}
        where id = ${id} and status = 'SENDING' and not audience_fixed
          and frozen_to_id is not distinct from ${campaign.frozen_to_id}
        returning id`.execute(tx);
    // Paused or cancelled meanwhile, or another call has done it: roll back.
    if (noted.length === 0) throw new StaleRow();
    return { isMore };
  });
}

/** The row has changed since it was read. */
export class StaleRow extends Error {}

/** A claimed message of a campaign, with what it is made from. */
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
  attempts: number;
  created_at: Date;
  /** When its first attempt began, if this is not the first. */
  first_attempt_at: string | null;
  billed_units: number;
  allowance_month: unknown;
  contact_email: string;
  contact_subscribed: boolean;
  contact_data: Record<string, unknown> | null;
  project_disabled: boolean;
  project_language: string;
  project_tracking: TrackingSetting;
  /** Its project has no subscription. */
  has_badge: boolean;
  /** Consecutive refusals by the provider so far. */
  refused_in_row: number;
}

/** What a claimed message of a campaign is composed from. */
const claimedColumns = [
  'id',
  'project_id',
  'contact_id',
  'to_email',
  'from_email',
  'from_name',
  'reply_to',
  'message_class',
  'source_type',
  'content_version',
  'attempts',
  'created_at',
  'billed_units',
  'allowance_month',
];

/**
 * Claims due messages of a campaign for one attempt, if it is sending: like `claimDueEmails`. The
 * same statement checks the campaign, so the next claim sees a pause.
 */
export async function claimCampaignEmails(
  db: Database,
  given: {
    campaignId: string;
    attemptId: string;
    max: number;
    leaseSeconds: number;
    throttled: boolean;
  },
): Promise<CampaignEmail[]> {
  const { rows } = await sql<CampaignEmail>`
    with sending as materialized (
      select campaign.refused_in_row, content.version, content.from_name, content.reply_to
        from campaign
        join campaign_content content on content.campaign_id = campaign.id
          and content.version = campaign.content_version
        where campaign.id = ${given.campaignId} and campaign.status = 'SENDING'
    ), due as (
      select id from email
        where campaign_id = ${given.campaignId} and status = 'PENDING' and due_at <= now()
          and (select true from sending)
        order by due_at, id
        limit ${given.max}
        for update skip locked
    ), claimed as (
      update email set ${claimed(given)}, from_name = sending.from_name,
          reply_to = sending.reply_to, content_version = sending.version
        from due, sending where email.id = due.id
        returning ${references(claimedColumns, 'email')}, ${firstAttemptAt}, sending.refused_in_row
    )
    select ${references(claimedColumns, 'claimed')}, claimed.first_attempt_at,
        claimed.refused_in_row, contact.email as contact_email, contact.subscribed as contact_subscribed,
        contact.data as contact_data, project.disabled_reason is not null as project_disabled,
        project.language as project_language, project.tracking as project_tracking,
        project.subscription is null as has_badge
      from claimed
      join contact on contact.id = claimed.contact_id
      join project on project.id = claimed.project_id`.execute(db);
  return rows;
}

/** What a campaign's messages of one version are made from. */
export interface CampaignContent {
  subject: string;
  body: string;
}

export async function findCampaignContent(
  db: Database,
  campaignId: string,
  version: number,
): Promise<CampaignContent | undefined> {
  return db
    .selectFrom('campaign_content')
    .select(['subject', 'body'])
    .where('campaign_id', '=', campaignId)
    .where('version', '=', version)
    .executeTakeFirst();
}

/** Stores a body template shared by a campaign's messages. Returns its id. */
export async function insertBodyTemplate(
  db: Database,
  campaignId: string,
  body: TextTemplate,
): Promise<string> {
  const text = JSON.stringify({ texts: body.texts, slots: body.slots });
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  await sql`
    insert into campaign_frame (campaign_id, frame, project_id, body)
      select id, ${name}, project_id, ${text}::jsonb from campaign where id = ${campaignId}
      on conflict do nothing`.execute(db);
  return name;
}

/** What a campaign has left to do, without a full count. */
export interface CampaignWork {
  /** Milliseconds until its next message is due; null: none waits. */
  nextDueMs: number | null;
  /** Whether the outcome of some messages is still unknown. */
  isUnsettled: boolean;
}

export async function findCampaignWork(db: Database, campaignId: string): Promise<CampaignWork> {
  const { rows } = await sql<CampaignWork>`
    select
      (select ${millisecondsUntil(sql`due_at`)} from email
        where campaign_id = ${campaignId} and status = 'PENDING'
        order by due_at, id limit 1) as "nextDueMs",
      exists (select from email
        where campaign_id = ${campaignId} and status = 'SENDING') as "isUnsettled"`.execute(db);
  return rows[0] ?? { nextDueMs: null, isUnsettled: false };
}

/** Fails some of the waiting messages of a campaign that is cancelled or gone. Returns how many. */
export async function failCampaignEmails(
  db: Database,
  campaignId: string,
  reason: 'campaign_cancelled' | 'project_disabled',
  max: number,
): Promise<number> {
  const result = await sql`
    update email set ${suppressedBy(reason)}
      where id in (select id from email
        where campaign_id = ${campaignId} and status = 'PENDING'
        order by due_at, id limit ${max} for update skip locked)
        and not exists (select from campaign
          where campaign.id = ${campaignId} and campaign.status <> 'CANCELLED')`.execute(db);
  return Number(result.numAffectedRows ?? 0);
}

/** Messages of a campaign whose outcome is unknown: not settled yet, or given up. */
export async function countUncertainEmails(db: Database, campaignId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (
      (select count(*) from email where campaign_id = ${campaignId}
        and status = 'SENDING' and lease_until < now())
      + (select count(*) from email where campaign_id = ${campaignId}
        and error = 'delivery_unknown' and status = 'FAILED'))::int as count`.execute(db);
  return rows[0]?.count ?? 0;
}

/** The message of a campaign to one contact. */
export async function findCampaignEmail(
  db: Database,
  campaignId: string,
  contactId: string,
): Promise<{ id: string; status: string; error: string | null } | undefined> {
  return db
    .selectFrom('email')
    .select(['id', 'status', 'error'])
    .where('campaign_id', '=', campaignId)
    .where('contact_id', '=', contactId)
    .executeTakeFirst();
}

/** Whether a contact was subscribed at a moment: the next change holds the state before. */
export async function wasSubscribedAt(
  db: Database,
  contact: { id: string; subscribed: boolean },
  at: Date,
): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`
    select name from event
      where contact_id = ${contact.id} and recorded_at > ${at}
        and name in ('contact.subscribed', 'contact.unsubscribed')
      order by recorded_at limit 1`.execute(db);
  return rows[0] ? rows[0].name === 'contact.unsubscribed' : contact.subscribed;
}
