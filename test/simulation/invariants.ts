import type pg from 'pg';
import { mailTableFaults } from '../support/mail-tables.ts';
import type { SimulatedTemporal } from './temporal.ts';
import type { SimulatedProvider, Taken } from './world.ts';

/** Invariants of every history. */

/** Lists the open work: unfinished rows, outbox entries, and open runs. */
export async function findOpen(client: pg.Client, temporal: SimulatedTemporal): Promise<string[]> {
  const { rows } = await client.query(`
    select 'email ' || status || ' ' || id as what from email
      where status in ('PENDING', 'SENDING')
    union all select 'execution ' || status || ' ' || id from execution
      where status in ('RUNNING', 'WAITING')
    union all select 'outbox ' || action || ' ' || run_id from outbox
    union all select 'wait ' || step_execution_id from wait
    union all select 'campaign ' || status || ' ' || id from campaign
      where status not in ('SENT', 'CANCELLED')
    order by 1`);
  const runs = [...temporal.runs.values()].filter(
    ({ status, type }) => status === 'RUNNING' && type !== 'deliveryQueue' && type !== 'sweep',
  );
  return [...rows.map(({ what }) => what), ...runs.map(({ workflowId }) => `run ${workflowId}`)];
}

/** Returns true if the product must know that the provider took the message. */
function isKnown({ by, at, isDoubtful }: Taken): boolean {
  return by.alive && by.stoppedUntil < at && !isDoubtful;
}

/**
 * Lists work that is lost, duplicated or out of order. A message may be handed over again only
 * under the policy `resend`, and only if its outcome is unknown: its process died or was stopped,
 * or the answer was uncertain or late.
 */
export async function findBroken(
  client: pg.Client,
  {
    provider,
    unknownPolicy,
    left,
  }: { provider: SimulatedProvider; unknownPolicy: string; left: readonly string[] },
): Promise<string[]> {
  const broken = left.map((runId) => `Temporal was not told in time of ${runId}`);
  for (const [emailId, taken] of provider.taken) {
    // A process that was stopped between checking its claim and the handover does not notice.
    const inTime = taken.filter(
      ({ by, at }) => at < by.stoppedUntil || at > by.stoppedUntil + 1_000,
    );
    const earlier = inTime.slice(0, -1);
    if (earlier.some(isKnown) || (earlier.length > 0 && unknownPolicy === 'fail')) {
      broken.push(`email ${emailId} was handed over ${taken.length} times`);
    }
  }
  const { rows: emails } = await client.query('select id, status, error from email order by id');
  for (const { id, status, error } of emails) {
    const isTaken = provider.taken.has(id);
    if (status === 'DELIVERED' && !isTaken) broken.push(`email ${id} is DELIVERED, and was not`);
    if (status === 'FAILED' && error === 'never' && !provider.refused.has(id)) {
      broken.push(`email ${id} is FAILED as refused, and was not`);
    }
    const last = provider.taken.get(id)?.at(-1);
    const isLast = last !== undefined && last.at > (provider.refused.get(id) ?? 0);
    if (isLast && isKnown(last) && status !== 'DELIVERED') {
      broken.push(`email ${id} is ${status} (${error}), and was handed over at last`);
    }
    // The last of several attempts may have been refused.
    const isRefused = provider.refused.has(id);
    if (status === 'FAILED' && isTaken && !isRefused && !/unknown|later/.test(error)) {
      broken.push(`email ${id} is FAILED (${error}), and was handed over`);
    }
  }
  const { rows } = await client.query(`
    select 'execution ' || id || ' FAILED: ' || coalesce(error, '') as what from execution
      where status = 'FAILED'
    union all
    select 'execution ' || execution.id || ' has ' || count(email.id) || ' mails' from execution
      left join email on email.workflow_execution_id = execution.id
      where execution.status = 'COMPLETED' group by execution.id having count(email.id) <> 2
    union all
    select 'step ' || step_execution.id || ' is ' || step_execution.status || ' in a COMPLETED execution'
      from step_execution join execution on execution.id = step_execution.execution_id
      where execution.status = 'COMPLETED' and step_execution.status <> 'COMPLETED'
    union all
    select 'contact ' || contact_id || ' has two executions' from execution
      group by contact_id having count(*) > 1
    union all
    select name || ' of email ' || email_id || ' ' || count(*) || ' times' from event
      where email_id is not null group by email_id, name having count(*) > 1
    union all
    select 'email ' || email.id || ' DELIVERED without its events' from email
      where status = 'DELIVERED' and bit_count(derived_events::int::bit(2)) + (select count(*)
        from event where event.email_id = email.id
          and name in ('email.sent', 'email.delivery')) <> 2
    union all
    select 'email.delivery before email.sent of ' || a.email_id from event a
      join event b on b.email_id = a.email_id and b.name = 'email.sent'
      where a.name = 'email.delivery' and a.recorded_at < b.recorded_at
    union all
    select 'event ' || name || ' began without an execution' from event
      where name = 'began' and not exists (select from execution
        where execution.contact_id = event.contact_id)
    union all
    select 'campaign ' || id || ' says ' || sent_count || ' sent' from campaign
      where sent_count <> (select count(*) from email
        where campaign_id = campaign.id and sent_at is not null)`);
  const { rows: faults } = await client.query(mailTableFaults);
  return [...broken, ...[...rows, ...faults].map(({ what }) => what)];
}
