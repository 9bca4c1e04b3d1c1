import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { traceEntry } from './trace.ts';

/**
 * Adds the outcomes of one attempt to its campaign, at the end of the transaction. Pauses the
 * campaign when the provider has refused too many in a row. Fails messages that would be retried
 * although the campaign has ended.
 * @param campaign.pauseOnFailures consecutive refusals that pause it; 0: never.
 * @param outcomes in the order in which they happened.
 * @param emails the rows that the outcomes have changed, as they are now.
 */
export async function recordCampaignProgress(
  tx: Database,
  campaign: { id: string; pauseOnFailures: number },
  outcomes: readonly { kind: string; emailId: string }[],
  emails: readonly { id: string; status: string; sent_at: string | null }[],
): Promise<void> {
  const sent = emails.filter((email) => email.sent_at !== null).length;
  const delivered = emails.filter((email) => email.status === 'DELIVERED').length;
  const lastAccepted = outcomes.findLastIndex(({ kind }) => kind === 'accepted');
  // Skip outcomes recorded already: this is a retry after a commit whose result was lost.
  const changed = new Set(emails.map(({ id }) => id));
  const refused = outcomes
    .slice(lastAccepted + 1)
    .filter(({ kind, emailId }) => kind === 'refused' && changed.has(emailId)).length;
  const inRow = lastAccepted < 0 ? sql`refused_in_row + ${refused}` : sql`${refused}::int`;
  const { pauseOnFailures } = campaign;
  const pauses = sql`(status = 'SENDING' and ${pauseOnFailures} > 0
    and ${inRow} >= ${pauseOnFailures})`;
  const { rows } = await sql<{ status: string }>`
    update campaign set
        sent_count = sent_count + ${sent},
        delivered_count = delivered_count + ${delivered},
        refused_in_row = ${inRow},
        status = case when ${pauses} then 'PAUSED' else status end,
        paused_reason = case when ${pauses} then 'provider_failures' else paused_reason end,
        updated_at = case when ${pauses} then now() else updated_at end
      where id = ${campaign.id}
      returning status`.execute(tx);
  const waiting = emails.filter(({ status }) => status === 'PENDING').map(({ id }) => id);
  await suppressIfCancelled(tx, rows[0], waiting);
}

/**
 * Fails messages that wait for a campaign that has ended.
 * @param campaign undefined: it was cancelled and has been deleted since.
 */
export async function suppressIfCancelled(
  tx: Database,
  campaign: { status: string } | undefined,
  emailIds: readonly string[],
): Promise<void> {
  if (emailIds.length === 0 || (campaign && campaign.status !== 'CANCELLED')) return;
  await sql`
    update email set ${suppressedBy('campaign_cancelled')}
      where id = any(${emailIds}::uuid[]) and status = 'PENDING'`.execute(tx);
}

/** The columns of a waiting message that must not be sent any more. */
export function suppressedBy(reason: 'campaign_cancelled' | 'project_disabled') {
  return sql`status = 'FAILED', error = ${reason}, updated_at = now(),
    trace = trace || ${traceEntry('withheld', sql`jsonb_build_object('reason', ${reason}::text)`)}`;
}
