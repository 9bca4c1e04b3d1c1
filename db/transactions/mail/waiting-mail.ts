import { sql } from 'kysely';
import { type BillingRules, moveAllowance } from '../../billing/billing.ts';
import { type Database, transact } from '../../database.ts';
import { noteDelivery } from '../../emails/emails.ts';
import { signalCampaign } from '../../outbox/outbox.ts';
import { following, ledgerColumns, whenFailing } from '../../sql/ledger.ts';
import { isUnqueued } from '../../sql/mail-queue.ts';
import { statusOf } from '../../sql/mail-status.ts';
import { scheduledEntry, traceEntry } from '../../sql/mail-trace.ts';
import { Problem } from '../../../domain/errors.ts';

/**
 * Changes of waiting mail: a new send time, or a cancellation. Both work until the mail is claimed.
 * A claim locks the same rows: the message, or the chunk of a campaign that contains it. So either
 * the claim comes first, or it sees the change.
 */

interface WaitingMail {
  id: string;
  project_id: string;
  /** The status that the API shows. */
  status: string;
  error: string | null;
  source_type: string;
  campaign_id: string | null;
}

async function findMail(
  db: Database,
  { projectId, id }: { projectId: string; id: string },
): Promise<WaitingMail> {
  const { rows } = await sql<WaitingMail>`
    select id, project_id, ${statusOf('email')} as status, error, source_type, campaign_id
      from email where project_id = ${projectId} and id = ${id}`.execute(db);
  const [mail] = rows;
  if (!mail) throw new Problem('EMAIL_NOT_FOUND', { details: { id } });
  if (mail.status === 'PENDING') return mail;
  const details = { status: mail.status, ...(mail.error !== null && { error: mail.error }) };
  const message = `The email is no longer pending. Its status is ${mail.status}.`;
  throw new Problem('EMAIL_NOT_PENDING', { message, details });
}

/**
 * Changes the send time of a waiting `/v1/send` message. A pause after an attempt and a hold still
 * apply.
 * @param given.at null: now.
 * @param given.refuse throws if the message may not be sent at that time.
 * @throws Problem EMAIL_NOT_FOUND, EMAIL_NOT_PENDING, EMAIL_NOT_RESCHEDULABLE,
 *   BILLING_LIMIT_EXCEEDED
 */
export async function rescheduleEmail(
  db: Database,
  rules: BillingRules,
  given: { projectId: string; id: string; at: Date | null; refuse: () => void },
): Promise<void> {
  const { id, at } = given;
  await transact(db, async (tx) => {
    await sql`select from email where id = ${id} for update`.execute(tx);
    const mail = await findMail(tx, given);
    if (mail.source_type !== 'TRANSACTIONAL') {
      const details = { sourceType: mail.source_type };
      throw new Problem('EMAIL_NOT_RESCHEDULABLE', { details });
    }
    given.refuse();
    await moveAllowance(tx, rules, id, at);
    await sql`
      with moved as (
        update email set scheduled_for = ${at}, due_at = greatest(${at ?? sql`now()`}, retry_at,
              case when hold_reason is not null then held_until end),
            waits_for = null,
            trace = trace || ${scheduledEntry(at)}, updated_at = now()
          where id = ${id} returning ${ledgerColumns('email')}
      ), ${following({ now: 'moved' }, ['queue'])}
      select from moved`.execute(tx);
    await sql`
      update attachment set kept_from = greatest(kept_from, ${at})
        where id in (select (file ->> 'attachmentId')::uuid
          from email, jsonb_array_elements(attachments) file where email.id = ${id})`.execute(tx);
    await noteDelivery(tx, { id, project_id: mail.project_id, scheduled_for: at });
  });
}

/**
 * Maximum number of times that a cancellation reads a message again, because the message moves from
 * one chunk of its campaign to another.
 */
const readsMax = 10;

/**
 * Cancels a waiting message: it fails, and is never given to the mail provider.
 * @throws Problem EMAIL_NOT_FOUND, EMAIL_NOT_PENDING
 */
export async function cancelEmail(
  db: Database,
  given: { projectId: string; id: string },
): Promise<void> {
  for (let reads = 1; ; reads += 1) {
    const mail = await findMail(db, given);
    const isDone = await transact(db, (tx) =>
      mail.campaign_id === null
        ? failEmail(tx, mail.id, sql`campaign_id is null`)
        : cancelCampaignEmail(tx, mail.id, mail.campaign_id),
    );
    if (isDone) return;
    // The message was claimed after it was read, or its chunk was ended or split.
    if (reads === readsMax)
      throw new Problem('EMAIL_NOT_PENDING', { details: { status: 'SENDING' } });
  }
}

/**
 * Cancels a waiting message of a campaign. Returns false when the message was claimed, or no longer
 * waits.
 */
async function cancelCampaignEmail(tx: Database, id: string, campaignId: string): Promise<boolean> {
  const { rows } = await sql<{ number: number; messages: number }>`
    select number, cardinality(email_ids) as messages from campaign_chunk
      where campaign_id = ${campaignId} and attempt_id is null and ${id} = any(email_ids)
      for update`.execute(tx);
  const [chunk] = rows;
  if (!chunk) return failEmail(tx, id, isUnqueued('email'));
  const isChunk = sql`campaign_id = ${campaignId} and number = ${chunk.number}`;
  if (chunk.messages > 1) {
    await sql`update campaign_chunk set email_ids = array_remove(email_ids, ${id}::uuid)
      where ${isChunk}`.execute(tx);
    return failEmail(tx, id, sql`true`);
  }
  await sql`delete from campaign_chunk where ${isChunk}`.execute(tx);
  const isFailed = await failEmail(tx, id, sql`true`);
  // The campaign may have waited for this message alone.
  const campaign = await tx
    .selectFrom('campaign')
    .select(['id', 'project_id', 'name'])
    .where('id', '=', campaignId)
    .executeTakeFirst();
  if (campaign) await signalCampaign(tx, campaign);
  return isFailed;
}

/**
 * Fails a waiting message as cancelled. Returns false when the message no longer waits, or `isFree`
 * is false for its row.
 */
async function failEmail(
  tx: Database,
  id: string,
  isFree: ReturnType<typeof sql>,
): Promise<boolean> {
  const detail = sql`jsonb_build_object('reason', 'cancelled')`;
  const { rows } = await sql`
    with failed as (
      update email set status = 'FAILED', error = 'cancelled', updated_at = now(),
          trace = trace || ${traceEntry('withheld', detail)}
        where id = ${id} and status = 'PENDING' and ${isFree}
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'failed' }, whenFailing)}
    select id from failed`.execute(tx);
  return rows.length > 0;
}
