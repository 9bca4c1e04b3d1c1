import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { suppressed } from '../sql/mail-status.ts';
import { following, ledgerColumns, whenFailing } from '../sql/ledger.ts';
import { type PlainRendering, plainRendering } from '../sql/mail-trace.ts';

/**
 * Adds the outcomes of one attempt to the campaign's counters, at the end of the transaction.
 * Pauses the campaign when the provider has refused too many consecutive messages. If the campaign
 * was cancelled or deleted, messages that would be retried fail. Returns the ids of messages that
 * still wait.
 * @param campaign.pauseOnFailures number of consecutive refusals that pauses the campaign; 0:
 * never.
 * @param campaign.plainly the result of `recordPlainRenderings`.
 * @param outcomes in the order in which they happened.
 * @param emails the changed rows, with their new values.
 */
export async function recordCampaignProgress(
  tx: Database,
  campaign: { id: string; pauseOnFailures: number; plainly: number },
  outcomes: readonly { kind: string; emailId: string; isUnreported?: boolean }[],
  emails: readonly { id: string; status: string; isSent: boolean }[],
): Promise<string[]> {
  const sent = emails.filter(({ isSent }) => isSent).length;
  const delivered = emails.filter((email) => email.status === 'DELIVERED').length;
  const lastAccepted = outcomes.findLastIndex(({ kind }) => kind === 'accepted');
  // Skip outcomes that were recorded before: the activity is repeated after a commit whose result
  // was lost.
  const changed = new Set(emails.map(({ id }) => id));
  const refused = outcomes
    .slice(lastAccepted + 1)
    .filter(({ kind, emailId }) => kind === 'refused' && changed.has(emailId)).length;
  const unreported = outcomes.filter(
    ({ isUnreported, emailId }) => isUnreported && changed.has(emailId),
  ).length;
  const inRow = lastAccepted < 0 ? sql`refused_in_row + ${refused}` : sql`${refused}::int`;
  const { pauseOnFailures } = campaign;
  const pauses = sql`(status = 'SENDING' and ${pauseOnFailures} > 0
    and ${inRow} >= ${pauseOnFailures})`;
  const { rows } = await sql<{ status: string }>`
    update campaign set
        sent_count = sent_count + ${sent},
        delivered_count = delivered_count + ${delivered},
        unreported_count = unreported_count + ${unreported},
        assumed_count = assumed_count + ${unreported},
        rendered_plainly_count = rendered_plainly_count + ${campaign.plainly},
        refused_in_row = ${inRow},
        status = case when ${pauses} then 'PAUSED' else status end,
        paused_reason = case when ${pauses} then 'provider_failures' else paused_reason end,
        updated_at = case when ${pauses} then now() else updated_at end
      where id = ${campaign.id}
      returning status`.execute(tx);
  const waiting = emails.filter(({ status }) => status === 'PENDING').map(({ id }) => id);
  const [row] = rows;
  // Without a row, the campaign was cancelled and then deleted.
  if (waiting.length === 0 || (row && row.status !== 'CANCELLED')) return waiting;
  await sql`
    with failed as (
      update email set ${suppressed('email')}
        where id = any(${waiting}::uuid[]) and status = 'PENDING'
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'failed' }, whenFailing)}
    select from failed`.execute(tx);
  return [];
}

/**
 * Notes in the traces of a campaign's messages that their template could not be rendered, before
 * their outcomes are recorded. Returns the number of messages without an earlier note, because a
 * retried message counts once. With no such messages, it sends no statement.
 * @param claimedAt ISO time when the messages were claimed, right before they were rendered.
 */
export async function recordPlainRenderings(
  tx: Database,
  outcomes: readonly {
    emailId: string;
    content?: { renderedPlainly?: PlainRendering | undefined } | undefined;
  }[],
  claimedAt: string,
): Promise<number> {
  // The messages of one campaign have few different reasons, so there is one statement for each
  // reason.
  const idsByReason = new Map<string, { reason: PlainRendering; ids: string[] }>();
  for (const { emailId, content } of outcomes) {
    const reason = content?.renderedPlainly;
    if (!reason) continue;
    const known = idsByReason.get(JSON.stringify(reason)) ?? { reason, ids: [] };
    known.ids.push(emailId);
    idsByReason.set(JSON.stringify(reason), known);
  }
  let count = 0;
  for (const { reason, ids } of idsByReason.values()) {
    const { rows } = await sql`
      update email set trace = email.trace
          || jsonb_set(${plainRendering(reason)}, '{0,at}', to_jsonb(${claimedAt}::text))
        where id = any(${ids}::uuid[])
          and (not trace @> '[{"state": "rendered_plainly"}]')
        returning id`.execute(tx);
    count += rows.length;
  }
  return count;
}
