import { type RawBuilder, sql } from 'kysely';
import { openEnd } from '../../domain/outcomes/hold.ts';
import { traceEntry } from './mail-trace.ts';

/**
 * Messages that wait, or are being given to the mail provider, outside of chunks: rows of
 * `email_queue`, which follow the messages (see `ledger.ts`). Code that changes a message locks the
 * message's row, never the queue's.
 */

/**
 * SQL that selects a project's waiting mail, except campaign mail, with `due_at`, `email_id` and
 * `waits_for`.
 */
export function waitingOf(projectId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select inner_waiting.due_at, inner_waiting.email_id, inner_waiting.waits_for
    from email_queue inner_waiting where inner_waiting.project_id = ${projectId}
      and inner_waiting.campaign_id is null and inner_waiting.lease_until is null) waiting`;
}

/** SQL that selects a campaign's waiting mail that is in no chunk, with `due_at` and `email_id`. */
export function unqueuedOf(campaignId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(select inner_unqueued.due_at, inner_unqueued.email_id
    from email_queue inner_unqueued
    where inner_unqueued.campaign_id = ${campaignId}
      and inner_unqueued.lease_until is null) waiting`;
}

/**
 * Returns SQL that is true if a waiting message of a campaign is in no chunk: the send policy holds
 * it back, or it is sent once more because its outcome stayed unknown. `unqueuedOf` finds such
 * messages. `due_at` is null while a message is in a chunk, which then has the due time.
 * @param email the table or its alias.
 */
export function isUnqueued(email: string): RawBuilder<boolean> {
  return sql<boolean>`(${sql.ref(`${email}.status`)} = 'PENDING'
    and ${sql.ref(`${email}.due_at`)} is not null)`;
}

/**
 * Mail that waits for the operator, because the database was restored and may not know that it has
 * left. Such mail is due in the year 9999, so no claim looks at it.
 */

export const heldUntilDecided = sql`${openEnd}::timestamptz`;

/** SQL of the trace entry of mail that begins to wait for the operator. */
export const operatorHeld = traceEntry(
  'held',
  sql`jsonb_build_object('reason', 'operator', 'until', null)`,
);

/** SQL that changes waiting messages so that they wait for the operator. */
export const holdingForOperator = sql`due_at = ${heldUntilDecided}, hold_reason = 'operator',
  held_until = ${heldUntilDecided}, ramp_id = null, waits_for = null, updated_at = now(),
  trace = email.trace || ${operatorHeld}`;

/**
 * SQL that is true if new mail of a project waits for the operator, because its execution has started
 * before a restore.
 */
export function isHeldExecution(
  projectId: RawBuilder<unknown>,
  executionId: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`exists (select from installation inner_restored
    where inner_restored.held_before is not null and ${projectId} <> all(inner_restored.released)
      and exists (select from execution inner_begun where inner_begun.id = ${executionId}
        and inner_begun.started_at < inner_restored.held_before))`;
}

/** SQL that is true if a message is older than the restore after which mail is held. */
const isOfBefore = sql<boolean>`exists (select from installation inner_undecided_since
  where email.created_at < inner_undecided_since.held_before
    and email.project_id <> all(inner_undecided_since.released))`;

/**
 * SQL that makes a message due again whose attempt has ended: at `dueAt`, or when the operator decides
 * if it is of before a restore.
 * @param isDue SQL that is false for messages that fail
 */
export function dueAgain(isDue: RawBuilder<unknown>, dueAt: RawBuilder<unknown>) {
  const isHeld = sql`${isDue} and email.campaign_id is null and ${isOfBefore}`;
  return sql`due_at = case when ${isHeld} then ${heldUntilDecided} else ${dueAt} end,
    hold_reason = case when ${isHeld} then 'operator' else email.hold_reason end,
    held_until = case when ${isHeld} then ${heldUntilDecided} else email.held_until end`;
}

/** SQL of the trace entries of a message that `dueAgain` holds. */
export function heldAgain(isDue: RawBuilder<unknown>) {
  return sql`case when ${isDue} and email.campaign_id is null and ${isOfBefore}
    then ${operatorHeld} else '[]' end`;
}
