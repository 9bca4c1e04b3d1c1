import { type RawBuilder, sql } from 'kysely';
import { type Retry, type RetriableReason, retriableReasons } from '../../domain/campaign/retry.ts';
import type { Position } from '../../domain/cursor.ts';
import { limits } from '../../domain/limits.ts';
import { withinTime } from '../bounded.ts';
import type { Database } from '../database.ts';
import { following, ledgerColumns } from '../sql/ledger.ts';
import { hasFailedBy } from '../sql/mail-status.ts';
import { traceEntry } from '../sql/mail-trace.ts';
import type { CampaignRef } from './campaigns.ts';
import { queueing } from './chunks.ts';

/** Sends failed messages of a finished campaign again: each at most once. */

/** Counts of failed and suppressed messages that are not sent again. */
export interface NotRetried {
  /**
   * Messages whose reason would be the same at another attempt, or that a person decided not to
   * send.
   */
  cannotChange: number;
  alreadyRetried: number;
  /** Messages that a provider may have accepted. */
  unknown: number;
}

/**
 * SQL that is true if a provider may have accepted a message in one of its attempts, although the
 * last attempt has failed.
 */
const mayBeAccepted = sql<boolean>`(email.error = 'delivery_unknown'
  or email.trace @> '[{"state": "uncertain"}]' or email.trace @> '[{"state": "settled"}]')`;

/** SQL that is true if a message was first accepted by its provider, and then refused. */
const wasAccepted = sql<boolean>`(email.sent_at is not null or email.message_id is not null)`;

const isRetriable = sql<boolean>`(email.retried_at is null and not ${wasAccepted}
  and not ${mayBeAccepted})`;

/**
 * Counts the messages that `retryPage` does not queue again.
 * @throws Problem STATS_TOO_HEAVY
 */
export async function countNotRetried(
  db: Database,
  { projectId, campaignId }: CampaignRef,
  reasons: readonly RetriableReason[],
): Promise<NotRetried> {
  const failedBy = (codes: readonly RetriableReason[]) =>
    sql<boolean>`(${sql.join(
      codes.map((code) => hasFailedBy('email', code)),
      sql` or `,
    )})`;
  const bounds = { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' } as const;
  return withinTime(db, bounds, async (tx) => {
    const { rows } = await sql<NotRetried>`
      select count(*) filter (where class = 'unknown')::int as unknown,
          count(*) filter (where class = 'retried')::int as "alreadyRetried",
          count(*) filter (where class = 'fixed')::int as "cannotChange"
        from (
          select case
              when ${mayBeAccepted} then 'unknown'
              when not ${failedBy(retriableReasons)} or ${wasAccepted} then 'fixed'
              when email.retried_at is not null and ${failedBy(reasons)} then 'retried' end as class
            from email
            where email.campaign_id = ${campaignId} and email.project_id = ${projectId}
              and email.status = 'FAILED' and email.error is not null
        ) as failed`.execute(tx);
    return rows[0] ?? { cannotChange: 0, alreadyRetried: 0, unknown: 0 };
  });
}

/** Maximum number of messages that are checked in one transaction. */
const checkedPage = 2_000;

/**
 * Puts the next messages that failed for a reason back into the queue of their campaign. Two
 * concurrent calls retry each message once. The caller locks the campaign after this call.
 * @returns the number of queued messages, and the position of the last one that was checked; null:
 * no more
 */
export async function retryPage(
  tx: Database,
  { projectId, campaignId }: CampaignRef,
  reason: RetriableReason,
  after: Position | null,
): Promise<{ retried: number; next: Position | null }> {
  const isAfter = after
    ? sql`(email.created_at, email.id) < (${after.value}, ${after.id})`
    : sql`true`;
  const { rows } = await sql<{
    retried: number;
    checked: number;
    at: Date | null;
    id: string | null;
  }>`
    with page as materialized (
      select email.id, email.created_at from email
        where email.campaign_id = ${campaignId} and email.project_id = ${projectId}
          and ${hasFailedBy('email', reason)} and ${isAfter}
        order by email.created_at desc, email.id desc limit ${checkedPage}
    ), was as materialized (
      select ${ledgerColumns('email')} from email
        where email.id in (select id from page) and ${hasFailedBy('email', reason)}
          and ${isRetriable}
        order by email.id for update
    ), now_waiting as (
      update email set ${waitingAgain}
        from was where email.id = was.id
        returning ${ledgerColumns('email')}
    ), ${following({ was: 'was', now: 'now_waiting' }, ['queue', 'campaignTally', 'allowance'])},
    queued as (
      ${queueing({ id: campaignId, projectId }, sql`select id, now() as due_at from now_waiting`)}
    )
    select (select count(*)::int from now_waiting) as retried, count(*)::int as checked,
        (array_agg(created_at order by created_at, id))[1] as at,
        (array_agg(id order by created_at, id))[1] as id
      from page`.execute(tx);
  const { retried = 0, checked = 0, at = null, id = null } = rows[0] ?? {};
  const isLast = checked < checkedPage || at === null || id === null;
  return { retried, next: isLast ? null : { value: at.toISOString(), id } };
}

/**
 * SQL assignments that reset a message as if it was new, except its attempts and trace. The message
 * uses allowance again, because the first use was given back when it failed.
 */
const waitingAgain: RawBuilder<unknown> = sql`status = 'PENDING', error = null, refusal = null,
  retried_at = now(), due_at = null, retry_at = null, hold_reason = null, held_until = null,
  ramp_id = null, waits_for = null, provider_id = null, attempt_id = null, allowance_month = null,
  updated_at = now(), trace = email.trace || ${traceEntry('retried')}`;

/**
 * Stores how far a retry has come, and lets a finished campaign send again. Returns false if the
 * status of the campaign allows no more mail, or another process has continued the retry: the
 * caller rolls back.
 * @param was the retry before this page; null: the retry is not stored yet
 * @param lookMs after this time the run of the campaign continues the retry
 */
export async function storeRetry(
  tx: Database,
  { projectId, campaignId }: CampaignRef,
  was: Retry | null,
  next: Retry,
  lookMs: number,
): Promise<boolean> {
  const lookAt = sql<Date>`now() + make_interval(secs => ${lookMs / 1000})`;
  const isOpen = was
    ? sql<boolean>`(status in ('SENDING', 'PAUSED') and retry = ${JSON.stringify(was)}::jsonb)`
    : sql<boolean>`status = 'SENT'`;
  const { numUpdatedRows } = await tx
    .updateTable('campaign')
    .set({
      status: sql<string>`case when status = 'SENT' then 'SENDING' else status end`,
      refused_in_row: 0,
      retry: JSON.stringify(next),
      retry_look_at: next.reasons.length === 0 ? null : lookAt,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', campaignId)
    .where('project_id', '=', projectId)
    .where(isOpen)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Finds the retry that the run of a campaign must continue, because the request that began it has
 * stopped.
 */
export async function findDueRetry(db: Database, campaignId: string): Promise<Retry | null> {
  const row = await db
    .selectFrom('campaign')
    .select(sql<Retry>`retry`.as('retry'))
    .where('id', '=', campaignId)
    .where('status', '=', 'SENDING')
    .where('retry_look_at', '<=', sql<Date>`now()`)
    .executeTakeFirst();
  return row?.retry ?? null;
}
