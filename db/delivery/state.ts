import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { bucketsOf, type SendingRates } from './send-rate.ts';
import { readCircuit } from './provider-circuit.ts';
import { momentsOf } from '../sql/mail-moments.ts';
import { waitingOf } from '../sql/mail-queue.ts';
import { openEnd } from '../../domain/outcomes/hold.ts';
import { onlyRow } from '../expressions.ts';

/** Reports the state of mail delivery: waiting messages, messages being sent, and the speed. */

/**
 * Maximum number of waiting messages that are counted. A higher number would take longer to count,
 * and would not help the reader.
 */
export const waitingMax = 100_000;

/** The unsent mail of a project. */
export interface WaitingMail {
  /**
   * Number of messages that could be sent now. `oldestDueAt`: since when the oldest of them could
   * be sent. Messages of paused campaigns do not count.
   */
  due: number;
  /** The part of `due` that waits because the provider of its route cannot take mail. */
  down: number;
  oldestDueAt: Date | null;
  /** Messages that are being given to the mail provider now. */
  sending: number;
  /**
   * Messages that may have been sent: their worker died, or the connection to the provider broke.
   */
  unknown: number;
  /** Messages that are retried later, after a temporary failure. */
  retry: number;
  /** Messages with a later send time, not tried yet. */
  scheduled: number;
  /** Messages that the send policy or a ramp holds back. */
  quietHours: number;
  frequencyCap: number;
  warmUp: number;
  /** Messages that wait for the operator, after a restore of the database. */
  operator: number;
}

/** Numbers of unsent messages of one campaign. */
export interface CampaignMail {
  waiting: number;
  /**
   * `due`: messages that could be sent now. `scheduled`: messages that wait for the local send time
   * of their contact.
   */
  due: number;
  scheduled: number;
  oldestDueAt: Date | null;
  /**
   * Earliest time at which the last message can be sent; null: no message waits for a later time.
   */
  lastAt: Date | null;
}

/**
 * Counts unsent messages, up to `waitingMax` of each kind. Campaign messages are counted by chunk.
 * A chunk with a later due time counts as scheduled if it waits for the local send time of its
 * contacts; otherwise as a retry.
 */
export async function countWaitingMail(db: Database, projectId: string): Promise<WaitingMail> {
  const own = sql`project_id = ${projectId}`;
  const direct = waitingOf(sql`${projectId}`);
  const count = (from: RawBuilder<unknown>, where: RawBuilder<unknown>) =>
    sql`(select count(*) from (select from ${from} where ${where} limit ${waitingMax}) mail)`;
  const chunked = (where: RawBuilder<unknown>) =>
    sql`coalesce((select sum(cardinality(email_ids)) from campaign_chunk
      where ${own} and ${where}), 0)`;
  const isOpen = sql`attempt_id is null
    and exists (select from campaign where campaign.id = campaign_id and status = 'SENDING')`;
  const isLater = sql`${isOpen} and due_at > now() and due_at < ${openEnd}::timestamptz
    and waits_for is null`;
  const later = sql`(select due_at, email_id from ${direct} where waits_for is null) waiting
    join email on id = email_id`;
  const isRetry = sql`(waiting.due_at > now() and attempts > 0
    and coalesce(scheduled_for < waiting.due_at, true))`;
  const isHeld = sql`(hold_reason is not null and held_until > now())`;
  const held = sql`(select email_id from email_queue where ${own} and held_until > now()) held
    join email on id = email_id`;
  const claimed = sql`(select lease_until from email_queue
    where ${own} and lease_until is not null) claimed`;
  const { rows } = await sql<WaitingMail>`
    select (${count(direct, sql`due_at <= now() or waits_for is not null`)}
          + ${chunked(sql`${isOpen} and (due_at <= now() or waits_for is not null)`)})::int as due,
        (${count(direct, sql`waits_for is not null`)}
          + ${chunked(sql`${isOpen} and waits_for is not null`)})::int as down,
        least((select min(due_at) from ${direct} where due_at <= now()),
          (select min(due_at) from campaign_chunk
            where ${own} and ${isOpen} and due_at <= now())) as "oldestDueAt",
        (${count(claimed, sql`lease_until >= now()`)}
          + ${chunked(sql`attempt_id is not null and lease_until >= now()`)})::int as sending,
        (${count(claimed, sql`lease_until < now()`)}
          + ${chunked(sql`attempt_id is not null and lease_until < now()`)})::int as unknown,
        (${count(later, sql`${isRetry} and not ${isHeld}`)}
          + ${chunked(sql`${isLater} and not ${isOfMoment}`)})::int as retry,
        (${count(later, sql`waiting.due_at > now() and not ${isRetry} and not ${isHeld}`)}
          + ${chunked(sql`${isLater} and ${isOfMoment}`)})::int as scheduled,
        (${count(held, sql`hold_reason = 'quiet_hours'`)})::int as "quietHours",
        (${count(held, sql`hold_reason = 'frequency_cap'`)})::int as "frequencyCap",
        (${count(held, sql`hold_reason = 'warm_up'`)})::int as "warmUp",
        (${count(held, sql`hold_reason = 'operator'`)})::int as operator
    `.execute(db);
  return onlyRow(rows);
}

/** Counts the unsent messages of a campaign. */
export async function countCampaignMail(
  db: Database,
  { id, project_id: projectId }: { id: string; project_id: string },
): Promise<CampaignMail> {
  const { rows } = await sql<CampaignMail>`
    select coalesce(sum(cardinality(email_ids)), 0)::int as waiting,
        coalesce(sum(cardinality(email_ids)) filter (where due_at <= now()), 0)::int as due,
        coalesce(sum(cardinality(email_ids)) filter (where due_at > now() and ${isOfMoment}), 0)::int
          as scheduled,
        min(due_at) filter (where attempt_id is null and due_at <= now()) as "oldestDueAt",
        greatest(max(due_at) filter (where due_at > now() and due_at < ${openEnd}::timestamptz), (select max(held_until) from email_queue
          where project_id = ${projectId} and campaign_id = ${id} and held_until > now()
            and held_until < ${openEnd}::timestamptz)) as "lastAt"
      from campaign_chunk where campaign_id = ${id}`.execute(db);
  return rows[0] ?? { waiting: 0, due: 0, scheduled: 0, oldestDueAt: null, lastAt: null };
}

/** SQL that is true if a chunk waits for the local send time of its contacts. */
const isOfMoment = sql`exists (select from email inner_scheduled
  where inner_scheduled.id = any(campaign_chunk.email_ids)
    and inner_scheduled.scheduled_for = campaign_chunk.due_at)`;

/** Number of seconds over which the speed is measured. */
const measuredSeconds = 10;

/**
 * Returns the messages per second sent during the last seconds, for a project or one of its
 * campaigns.
 */
export async function measureSpeed(
  db: Database,
  { projectId, campaignId }: { projectId: string; campaignId?: string },
): Promise<number> {
  const isRecent = sql`at > now() - make_interval(secs => ${measuredSeconds})`;
  const recent = momentsOf(
    projectId,
    'sent',
    sql`at > now() - make_interval(secs => ${2 * measuredSeconds})`,
  );
  const { rows } = await sql<{ sent: number; seconds: number; wasSending: boolean }>`
    select (count(*) filter (where ${isRecent}))::int as sent,
        coalesce(extract(epoch from now() - min(at) filter (where ${isRecent})), 0)::float8
          as seconds,
        coalesce(bool_or(not ${isRecent}), false) as "wasSending"
      from ${recent} ${
        campaignId === undefined
          ? sql``
          : sql`join email on id = email_id where campaign_id = ${campaignId}`
      }`.execute(db);
  const { sent = 0, seconds = 0, wasSending = false } = rows[0] ?? {};
  // If sending has just begun, the first message marks the start of the measurement.
  const speed = wasSending || sent < 2 ? sent / measuredSeconds : (sent - 1) / Math.max(1, seconds);
  return Math.round(speed * 100) / 100;
}

/** Reasons that may delay the mail of a project. */
export interface SendingState {
  /** True if the provider cannot take mail now. */
  isProviderOut: boolean;
  /** Tokens that are left; null: there is no such limit, or the bucket was never used. */
  projectTokens: number | null;
  serverTokens: number | null;
  /** True if a campaign with due mail has its own rate limit. */
  isCampaignSlow: boolean;
}

export async function readSendingState(
  db: Database,
  projectId: string,
  { provider, rates }: { provider: string | null; rates: SendingRates },
): Promise<SendingState> {
  const circuit = provider === null ? null : await readCircuit(db, provider);
  const buckets = bucketsOf(rates, projectId);
  const { rows } = await sql<{ key: string; tokens: number }>`
    select key, tokens + extract(epoch from clock_timestamp() - refilled_at)::float8 * rate as tokens
      from token_bucket join unnest(${buckets.map(({ key }) => key)}::text[],
        ${buckets.map(({ rate }) => rate)}::float8[]) as wanted(key, rate) using (key)`.execute(db);
  const tokensOf = (key: string) => rows.find((row) => row.key === key)?.tokens ?? null;
  const { rows: slow } = await sql`
    select from campaign
      where project_id = ${projectId} and status = 'SENDING' and max_per_minute is not null
        and exists (select from campaign_chunk where campaign_id = campaign.id
          and attempt_id is null and due_at <= now())
      limit 1`.execute(db);
  return {
    isCampaignSlow: slow.length > 0,
    isProviderOut: circuit !== null && circuit.waitMs !== null,
    projectTokens: tokensOf(`project ${projectId}`),
    serverTokens: tokensOf('server'),
  };
}
