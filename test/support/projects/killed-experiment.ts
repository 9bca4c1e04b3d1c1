import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Engine } from '../engine.ts';
import type { useCountingSink } from '../fakes/counting-sink.ts';
import type { Program } from '../processes/processes.ts';
import { sweepNow } from '../sweep-now.ts';
import { waitFor } from '../wait-for.ts';
import { act, campaignIn, createCampaign, deleteContacts, insertContacts } from './campaigns.ts';

const recipients = 200;

/**
 * Kills the worker of an experiment at about the time of its decision, starts another one, and
 * checks that there is one decision, and one mail for each recipient.
 * @param given.afterMs milliseconds from the decision to the kill; negative: before the decision
 */
export async function killAtDecision(
  engine: Engine,
  sink: Awaited<ReturnType<typeof useCountingSink>>,
  given: { afterMs: number; startWorker: () => Promise<Program> },
): Promise<void> {
  const { db } = engine.api;
  await deleteContacts(engine);
  await insertContacts(engine, recipients);
  const arms = [{ id: 'a' }, { id: 'b', subject: 'Other' }];
  const rules = { testPercent: 50, decideAfterSeconds: 3, minPerArm: 1 };
  const experiment = { arms, ...rules, metric: 'event', eventName: 'ordered' };
  const worker = await given.startWorker();
  const id = await createCampaign(engine, { experiment });
  await act(engine, id, 'send');
  const experimentOf = async () =>
    (await engine.call('GET', `/campaigns/${id}/experiment`)).body.data;
  const decideAt: string = await waitFor(
    'the test',
    async () => (await experimentOf()).decideAt,
    60_000,
  );
  const ofB = await db
    .selectFrom('email')
    .select('to_email as email')
    .where('campaign_id', '=', id)
    .where('arm', '=', 'b')
    .executeTakeFirstOrThrow();
  await engine.call('POST', '/v1/track', { email: ofB.email, event: 'ordered' });
  await sleep(Math.max(Date.parse(decideAt) - Date.now() + given.afterMs, 0));
  await worker.kill();
  const next = await given.startWorker();
  await waitFor(
    'the end of the campaign',
    async () => {
      await sql`update campaign_chunk set lease_until = now() - interval '1 hour'
        where attempt_id is not null and claimed_at < now() - interval '10 seconds'`.execute(db);
      await sql`update campaign set reconciled_at = now() - interval '1 hour'
        where id = ${id} and status = 'SENDING'`.execute(db);
      await sweepNow(engine);
      const { rows } = await sql`select from email
        where campaign_id = ${id} and status in ('PENDING', 'SENDING') limit 1`.execute(db);
      return rows.length === 0;
    },
    90_000,
  );
  await campaignIn(engine, id, 'SENT', 60_000);
  await next.kill();
  expect((await experimentOf()).decision).toMatchObject({ arm: 'b', by: 'metric' });
  const mails = await db
    .selectFrom('email')
    .select(['id', 'status', 'error', 'arm', 'subject'])
    .where('campaign_id', '=', id)
    .execute();
  expect(mails).toHaveLength(recipients);
  for (const mail of mails) {
    const arrived = sink.emails.get(mail.id) ?? 0;
    if (mail.error === 'delivery_unknown') expect(arrived).toBeLessThanOrEqual(1);
    else expect([mail.status, arrived]).toEqual(['SENT', 1]);
    if (mail.status === 'SENT') expect(mail.subject === 'Other').toBe(mail.arm !== 'a');
  }
}
