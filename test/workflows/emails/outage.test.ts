import { sql } from 'kysely';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** A mail provider that cannot accept mail from any sender. */

const engine = await useEngine(
  { EMAIL_RATE_LIMIT_PER_SECOND: '0', EMAIL_RATE_PER_PROJECT_PER_SECOND: '0' },
  { worker: false },
);
const { db } = engine.api;
const { mailer } = engine.services;
let isAway = false;
let attempts = 0;
engine.services.mailer = {
  ...mailer,
  async send(message) {
    attempts += 1;
    if (isAway) return { kind: 'retry', error: 'connect ECONNREFUSED' };
    return mailer.send(message);
  },
};
await engine.startWorker();

const circuit = () =>
  db
    .selectFrom('provider_circuit')
    .selectAll()
    .where('provider', '=', 'mailbox')
    .executeTakeFirst();
const isOpen = async () => (await circuit())?.opened_at != null;

/** Counts all mail of the server by status. */
async function statuses(): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('email')
    .select(['status', sql<number>`count(*)::int`.as('count')])
    .groupBy('status')
    .execute();
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

const send = (to: string[]) =>
  engine.call('POST', '/v1/send', {
    from: `a@${engine.domain}`,
    subject: 'Hi',
    body: '<p>Hi</p>',
    to,
  });

const deliveryRun = () =>
  engine.temporal.client.workflow.getHandle(`delivery-${engine.project.id}`);

/** Makes the next attempt due, and starts it by `wake`; by default a signal to the delivery run. */
async function probeNow(wake = () => deliveryRun().signal('mailDue')): Promise<void> {
  const { probes } = (await circuit())!;
  await sql`update provider_circuit set next_probe_at = now() - interval '1 minute'`.execute(db);
  await wake();
  await waitFor('an attempt', async () => {
    const now = await circuit();
    return now?.opened_at === null || (now?.probes ?? 0) > probes;
  });
}

describe('while the provider cannot take mail', { timeout: 90_000 }, () => {
  it('mail waits, one at a time is tried, none fails, and all of it leaves when it is back', async () => {
    isAway = true;
    const to = Array.from({ length: 60 }, newAddress);
    expect((await send(to)).status).toBe(200);
    await waitFor('the circuit to open', isOpen);
    await waitFor('the claims to be given back', async () => !(await statuses())['SENDING']);

    // The first two minutes have pauses of 2, 4, 8, …, 64 seconds.
    for (let probe = (await circuit())!.probes; probe < 6; probe += 1) await probeNow();
    const { probes, next_probe_at: next } = (await circuit())!;
    // The mails in flight at the start, and one attempt for each pause.
    const tried = attempts;
    expect(tried).toBeLessThanOrEqual(mailer.maxConcurrency + 3 + probes);
    const pauseMs = next!.getTime() - Date.now();
    expect(pauseMs / 1000).toBeGreaterThan(2 * 2 ** probes - 10);
    expect(pauseMs / 1000).toBeLessThan(2 * 2 ** probes + 1);
    expect(await statuses()).toEqual({ PENDING: 60 });
    // New mail does not change that.
    expect((await send([newAddress()])).status).toBe(200);
    await sleep(500);
    expect(attempts).toBe(tried);

    isAway = false;
    await probeNow(() => sweepNow(engine));
    await waitFor('all mail', async () => (await statuses())['DELIVERED'] === 61, 60_000);
    expect(await isOpen()).toBe(false);
  });

  it('a campaign waits with it, and goes on', async () => {
    await dropContacts(db);
    await insertContacts(engine, 100);
    const id = await createCampaign(engine);
    isAway = true;
    await act(engine, id, 'send');
    await waitFor('the circuit to open', isOpen);
    const before = attempts;
    await sleep(1_000);
    expect(attempts - before).toBeLessThanOrEqual(2 * mailer.maxConcurrency);
    isAway = false;
    await sql`update provider_circuit set next_probe_at = now() - interval '1 minute'`.execute(db);
    const { sentCount } = await campaignIn(engine, id, 'SENT', 60_000);
    expect(sentCount).toBe(100);
  });

  it('a mail fails when it was tried for as long as the setting says', async () => {
    await dropContacts(db);
    await db.deleteFrom('provider_circuit').execute();
    isAway = true;
    await send([newAddress()]);
    await waitFor('the first attempt', async () => {
      const { numUpdatedRows } = await db
        .updateTable('email')
        .set({ trace: sql`jsonb_set(trace, '{0,at}', '"2026-01-01T00:00:00.000Z"')` })
        .where('status', '=', 'PENDING')
        .where('attempts', '=', 1)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    });
    await waitFor('the second', async () => (await statuses())['FAILED'] === 1, 60_000);
    isAway = false;
    const row = await db.selectFrom('email').select(['error', 'attempts']).executeTakeFirst();
    expect(row).toEqual({ error: 'connect ECONNREFUSED', attempts: 2 });
  });
});
