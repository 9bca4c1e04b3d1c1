import { type RawBuilder, sql } from 'kysely';
import type { ClaimedShare } from '../../billing/billing.ts';
import { chunkSize, endChunk, failCampaignEmails, lockChunk } from '../../campaigns/chunks.ts';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { isoTime } from '../../expressions.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import { following, ledgerColumns } from '../../sql/ledger.ts';
import { contentArm, firstAttemptAt, providerOf } from '../../sql/mail-claims.ts';
import { traceEntry } from '../../sql/mail-trace.ts';
import { dueAgain, heldAgain } from '../../sql/mail-queue.ts';
import type { ChunkOrigin } from './claims.ts';
import { deliveryRunId } from '../../../domain/runs/execution.ts';

/** Takes over the claims of a dead process, whose journal shows what has happened. */

/** An attempt of the dead process. */
export interface LeftAttempt {
  attemptId: string;
  projectId: string;
  /** null: mail of no campaign. */
  campaignId: string | null;
  /** The content version of the campaign, and since when limits have delayed the messages. */
  content: { version: number; throttledAt: string | null } | null;
}

/** A claimed message of the attempt. */
export interface LeftMessage extends ClaimedShare {
  contact_id: string;
  /** False if the message was settled after the claim, for example by feedback. */
  is_waiting: boolean;
  /** null: the default provider, without a route. */
  provider_id: string | null;
  to_email: string;
  /** Number of the message's attempts, including this one. */
  attempts: number;
  /** Start of the first attempt; null: none was made before this one. */
  first_attempt_at: string | null;
}

export interface LeftClaim {
  messages: LeftMessage[];
  /** Set if the attempt belongs to a campaign. */
  origin: ChunkOrigin | null;
  /** True if the attempt still holds its chunk. */
  hasChunk: boolean;
}

/**
 * Returns the messages that an attempt has claimed, and whose outcomes are not recorded. Such
 * messages are in the attempt's chunk, or are SENDING: those of no campaign, and those of a chunk
 * whose lease has expired.
 */
export async function findLeftClaim(db: Database, attempt: LeftAttempt): Promise<LeftClaim> {
  const { attemptId, projectId, campaignId } = attempt;
  const columns = (attempts: RawBuilder<unknown>) => sql`
    mail.id, mail.contact_id, mail.status in ('PENDING', 'SENDING') as is_waiting,
    ${providerOf('mail')} as provider_id, mail.to_email, mail.source_type, mail.billed_units,
    mail.allowance_month, ${attempts} as attempts,
    case when ${attempts} > 1 then ${firstAttemptAt('mail')} end as first_attempt_at`;
  const { rows: messages } = await sql<LeftMessage>`
    select ${columns(sql`mail.attempts + 1`)}
      from campaign_chunk chunk cross join unnest(chunk.email_ids) as claimed(id)
      join email mail on mail.id = claimed.id
      where chunk.attempt_id = ${attemptId} and chunk.project_id = ${projectId}
    union all
    select ${columns(sql`mail.attempts`)}
      from email_queue queued join email mail on mail.id = queued.email_id
      where queued.project_id = ${projectId} and queued.lease_until is not null
        and ${isClaimedBy('mail', attemptId)}`.execute(db);
  if (campaignId === null) return { messages, origin: null, hasChunk: false };
  return { messages, ...(await findOrigin(db, attempt, campaignId, messages[0]?.id ?? null)) };
}

/** SQL that is true if an attempt has claimed a message, and nothing is known of its outcome. */
function isClaimedBy(email: string, attemptId: string): RawBuilder<boolean> {
  return sql`(${sql.ref(`${email}.status`)} = 'SENDING'
    and ${sql.ref(`${email}.attempt_id`)} = ${attemptId}
    and ${sql.ref(`${email}.trace`)} -> -1 ->> 'state' = 'handed_over')`;
}

async function findOrigin(
  db: Database,
  { attemptId, content }: LeftAttempt,
  campaignId: string,
  emailId: string | null,
): Promise<Omit<LeftClaim, 'messages'>> {
  const { rows } = await sql<{
    version: number | null;
    fromName: string | null;
    replyTo: string | null;
    claimedAt: string | null;
  }>`
    select content.version, content.from_name as "fromName", content.reply_to as "replyTo",
        (select ${isoTime(sql`claimed_at`)} from campaign_chunk
          where attempt_id = ${attemptId}) as "claimedAt"
      from (select) as always
      left join campaign on campaign.id = ${campaignId}
      left join campaign_content content on content.campaign_id = campaign.id
        and content.version = coalesce(${content?.version ?? null}::int, campaign.content_version)
        and content.arm = ${contentArm('campaign', sql`${emailId}::uuid`)}`.execute(db);
  const [found] = rows;
  const claimedAt = found?.claimedAt ?? null;
  const origin = {
    attemptId,
    // A deleted campaign has no content.
    contentVersion: found?.version ?? 0,
    fromName: found?.fromName ?? '',
    replyTo: found?.replyTo ?? null,
    claimedAt: claimedAt ?? new Date().toISOString(),
    throttledAt: content?.throttledAt ?? null,
  };
  return { origin, hasChunk: claimedAt !== null };
}

const released = traceEntry('released', sql`jsonb_build_object('reason', 'worker_died')`);

/**
 * Makes messages of a dead process due again that were certainly not given to the mail provider.
 * The attempt does not count. Changes only messages that the attempt still holds.
 */
export async function releaseLeftMessages(
  db: Database,
  { attemptId, projectId, campaignId }: LeftAttempt,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await transact(db, async (tx) => {
    if (campaignId !== null) await releaseFromChunk(tx, { attemptId, projectId, campaignId }, ids);
    // The due time of a campaign's message was in its chunk.
    await sql`
      with waiting as (
        update email set
            status = 'PENDING', attempt_id = null, lease_until = null, attempts = attempts - 1,
            ${dueAgain(sql`true`, sql`coalesce(due_at, now())`)},
            trace = (trace - (-1)) || ${released} || ${heldAgain(sql`true`)}, updated_at = now()
          where id = any(${ids}::uuid[]) and project_id = ${projectId}
            and ${isClaimedBy('email', attemptId)}
          returning ${ledgerColumns('email')}
      ), ${following({ now: 'waiting' }, ['queue'])}
      select from waiting`.execute(tx);
    if (campaignId === null) {
      notifyAfterCommit(tx, [{ runId: deliveryRunId(projectId), projectId }]);
    } else {
      await continueCampaign(tx, campaignId);
    }
  });
}

/** Moves messages of a claimed chunk into a new chunk that is due now. */
async function releaseFromChunk(
  tx: Database,
  { attemptId, projectId, campaignId }: Omit<LeftAttempt, 'content'> & { campaignId: string },
  ids: readonly string[],
): Promise<void> {
  const held = (await lockChunk(tx, attemptId)) ?? [];
  const given = new Set(ids);
  const again = held.filter((id) => given.has(id));
  if (again.length === 0) return;
  await sql`
    update email set trace = trace || ${released}, updated_at = now()
      where id = any(${again}::uuid[]) and project_id = ${projectId}
        and status = 'PENDING'`.execute(tx);
  // Other messages may have been deleted or failed since the claim.
  const { rows: left } = await sql<{ id: string }>`
    select id from email where id = any(${held.filter((id) => !given.has(id))}::uuid[])
      and project_id = ${projectId} and status = 'PENDING'`.execute(tx);
  const campaign = { id: campaignId, projectId };
  await endChunk(tx, campaign, attemptId, {
    left: left.map(({ id }) => id),
    again: new Map([[0, again]]),
  });
}

/** Signals the run of a campaign. If the campaign was cancelled or deleted, fails its messages. */
async function continueCampaign(tx: Database, campaignId: string): Promise<void> {
  // Locked, so that either this transaction sees a cancellation, or the cancellation sees the
  // released messages.
  const { rows } = await sql<{ id: string; project_id: string; name: string; status: string }>`
    select id, project_id, name, status from campaign where id = ${campaignId} for share`.execute(
    tx,
  );
  const [campaign] = rows;
  if (campaign) await signalCampaign(tx, campaign);
  if (campaign && campaign.status !== 'CANCELLED') return;
  await failCampaignEmails(tx, campaignId, chunkSize);
}
