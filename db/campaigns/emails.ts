import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import type { Json } from '../tables.ts';
import { millisecondsToWait } from '../expressions.ts';
import { judgedAt, wasSubscribed } from '../sql/campaign-audience.ts';
import { unqueuedOf } from '../sql/mail-queue.ts';
import { campaignStatusOf, isUnsettled, statusOf } from '../sql/mail-status.ts';
import { hasRouting } from '../sql/mail-claims.ts';
import { isPolicedCampaign } from '../sql/send-policy.ts';
import { hadLeftTopic } from '../sql/topic-choices.ts';
import type { TextTemplate } from '../../domain/mail/skeleton.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';
import type { JudgedMail } from '../../domain/outcomes/outcome.ts';

/** Reads the limits, content, progress and messages of a campaign. */

/** Settings that may hold back a campaign's mail. */
export interface CampaignLimits {
  /** null: no limit. */
  maxPerMinute: number | null;
  /** True if the project has a send policy that may hold mail. */
  isPoliced: boolean;
  /** True if the project's routes choose the mail providers. */
  isRouted: boolean;
  /** True if the campaign has an experiment. */
  hasExperiment: boolean;
}

export async function findCampaignLimits(
  db: Database,
  campaignId: string,
): Promise<CampaignLimits> {
  const { rows } = await sql<CampaignLimits>`
    select max_per_minute as "maxPerMinute", ${isPolicedCampaign('campaign')} as "isPoliced",
        ${hasRouting(sql`campaign.project_id`)} as "isRouted",
        experiment is not null as "hasExperiment"
      from campaign where id = ${campaignId}`.execute(db);
  return rows[0] ?? { maxPerMinute: null, isPoliced: false, isRouted: false, hasExperiment: false };
}

/** Content from which the messages of one version and one arm of an experiment are made. */
export interface CampaignContent {
  subject: string;
  body: string;
  /** Key of the campaign's topic; null: no topic. */
  topicKey: string | null;
  /** UTM parameters of the links; null: none. */
  utm: Json | null;
  utmHosts: string[];
  campaignName: string;
  templateName: string | null;
}

export async function findCampaignContent(
  db: Database,
  campaignId: string,
  { version, arm }: { version: number; arm: string },
): Promise<CampaignContent | undefined> {
  return db
    .selectFrom('campaign_content as content')
    .innerJoin('campaign', 'campaign.id', 'content.campaign_id')
    .leftJoin('topic', 'topic.id', 'campaign.topic_id')
    .leftJoin('template', 'template.id', 'content.template_id')
    .select(['content.subject', 'content.body', 'topic.key as topicKey'])
    .select(['content.utm', 'content.utm_hosts as utmHosts'])
    .select(['campaign.name as campaignName', 'template.name as templateName'])
    .where('content.campaign_id', '=', campaignId)
    .where('content.version', '=', version)
    .where('content.arm', '=', arm)
    .executeTakeFirst();
}

/**
 * Stores a body template that messages of a campaign share. Returns its hash. The template is
 * stored even if the campaign was deleted in the meantime, because sent mail keeps its text.
 */
export async function insertBodyTemplate(
  db: Database,
  { projectId, campaignId }: { projectId: string; campaignId: string },
  body: TextTemplate,
): Promise<string> {
  const text = JSON.stringify({ texts: body.texts, slots: body.slots });
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 16);
  await sql`
    insert into body_template (campaign_id, hash, project_id, body)
      select ${campaignId}, ${hash}, id, ${text}::jsonb from project
        where id = ${projectId} and removal is null
      on conflict do nothing`.execute(db);
  return hash;
}

/** The remaining work of a campaign, found without counting all of it. */
export interface CampaignWork {
  /**
   * Milliseconds until the campaign's next message is due; null: no message waits, or messages wait
   * only for the decision of the experiment.
   */
  nextDueMs: number | null;
  /**
   * Milliseconds until the campaign's run continues a retry of failed messages; null: no retry is
   * under way.
   */
  retryMs: number | null;
  /** True if some messages are claimed, and their outcomes are not recorded yet. */
  isUnsettled: boolean;
  /** True if the project's routes choose the mail providers. */
  isRouted: boolean;
}

export async function findCampaignWork(db: Database, campaignId: string): Promise<CampaignWork> {
  const { rows } = await sql<CampaignWork>`
    select
      ${millisecondsToWait(sql`least(
        (select due_at from campaign_chunk
          where campaign_id = ${campaignId} and attempt_id is null
            and due_at < ${openEnd}::timestamptz
          order by due_at limit 1),
        (select due_at from ${unqueuedOf(sql`${campaignId}`)}
          order by due_at limit 1))`)} as "nextDueMs",
      ${millisecondsToWait(sql`(select retry_look_at from campaign where id = ${campaignId})`)}
        as "retryMs",
      exists (select from campaign_chunk
          where campaign_id = ${campaignId} and attempt_id is not null)
        or exists (select from email_queue
          where campaign_id = ${campaignId} and lease_until is not null) as "isUnsettled",
      ${hasRouting(sql`(select project_id from campaign where id = ${campaignId})`)} as "isRouted"
      `.execute(db);
  return rows[0] ?? { nextDueMs: null, retryMs: null, isUnsettled: false, isRouted: false };
}

/** Returns the message of a campaign to one contact. */
export async function findCampaignEmail(
  db: Database,
  campaignId: string,
  contactId: string,
): Promise<(JudgedMail & { id: string }) | undefined> {
  const { rows } = await sql<JudgedMail & { id: string }>`
    select id, error, refusal, scheduled_for, retry_at, hold_reason, held_until,
        ${statusOf('email')} as status,
        ${campaignStatusOf('email')} as campaign_status, ${isUnsettled('email')} as is_unsettled
      from email where campaign_id = ${campaignId} and contact_id = ${contactId}`.execute(db);
  return rows[0];
}

/**
 * Returns the consent of a contact at the time when the campaign checked it; before that check, the
 * current consent.
 */
export async function findJudgedConsent(
  db: Database,
  campaignId: string,
  contact: { id: string; subscribed: boolean; created_at: Date },
): Promise<{ subscribed: boolean; topicLeft: boolean }> {
  const id = sql`${contact.id}::uuid`;
  const judged = judgedAt('campaign', { id, createdAt: sql`${contact.created_at}` });
  const isSubscribed = sql`${contact.subscribed}::boolean`;
  const { rows } = await sql<{ subscribed: boolean; topicLeft: boolean }>`
    select ${wasSubscribed({ id, isSubscribed }, sql`judged.at`)} as subscribed,
        ${hadLeftTopic(id, sql`judged.topic_id`, sql`judged.at`)} as "topicLeft"
      from (select topic_id, ${judged} as at from campaign
        where id = ${campaignId}) as judged`.execute(db);
  return rows[0] ?? { subscribed: contact.subscribed, topicLeft: false };
}

/** Returns true while messages of a sending campaign are being inserted. */
export async function isCampaignFreezing(db: Database, campaignId: string): Promise<boolean> {
  const row = await db
    .selectFrom('campaign')
    .select('id')
    .where('id', '=', campaignId)
    .where('status', '=', 'SENDING')
    .where('audience_fixed', '=', false)
    .executeTakeFirst();
  return row !== undefined;
}
