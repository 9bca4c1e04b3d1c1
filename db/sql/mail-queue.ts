import { type RawBuilder, sql } from 'kysely';

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
