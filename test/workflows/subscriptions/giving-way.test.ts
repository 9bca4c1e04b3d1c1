import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, expect, it } from 'vitest';
import { createPaces } from '../../../activities/subscriptions/pace.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { received, subscribe, track } from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Deliveries slow down for mail and requests, but never stop. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true', WEBHOOK_TIMEOUT_MS: '2000' });
const receiver = await useReceiver();
const { db } = engine.api;

/** Pretends that campaign mail is being handed over for the whole test. */
const sendForever = () =>
  sql`insert into campaign_chunk (campaign_id, project_id, email_ids, attempt_id, claimed_at,
      lease_until)
    values (${randomUUID()}, ${randomUUID()}, '{}', ${randomUUID()}, now(),
      now() + interval '1 hour')`.execute(db);

afterEach(() => sql`delete from campaign_chunk`.execute(db));

it('rests nine times as long as it has worked while a campaign is sent', async () => {
  const never = new AbortController().signal;
  const resting = async () => {
    const pace = createPaces(db, 1_000).of(() => 1, never);
    await pace.work(() => new Promise((resolve) => setTimeout(resolve, 30)));
    const startedAt = performance.now();
    await pace.rest(0);
    return { restedMs: performance.now() - startedAt, requests: pace.share(10) };
  };
  const idle = await resting();
  expect(idle.requests).toBe(10);
  await sendForever();
  const busy = await resting();
  expect(busy.requests).toBe(1);
  expect(busy.restedMs).toBeGreaterThanOrEqual(260);
});

it('sends all of it, however long others need the machine', { timeout: 120_000 }, async () => {
  await sendForever();
  const one = await subscribe(engine, receiver, ['flood']);
  const many = await subscribe(engine, receiver, ['flood'], { batch: { max: 100 } });
  await sql`insert into event (project_id, name)
    select ${engine.project.id}, 'flood' from generate_series(1, 1500)`.execute(db);
  await track(engine, 'flood');
  await waitFor(
    'all of the batches',
    async () => {
      const { body } = await engine.call('GET', `/event-subscriptions/${many.id}`);
      return body.last24Hours.delivered === 1_501 ? body : null;
    },
    90_000,
  );
  // Deliveries continue beside it.
  await received(one, 20, 60_000);
  await engine.call('DELETE', `/event-subscriptions/${one.id}`);
  await engine.call('DELETE', `/event-subscriptions/${many.id}`);
});

it('a receiver that hangs holds no connection to PostgreSQL', async () => {
  const shop = await subscribe(engine, receiver, ['hung']);
  let answer: (value: void) => void = () => {};
  receiver.answer(shop.path, { status: 200, until: new Promise((resolve) => (answer = resolve)) });
  for (let number = 0; number < 10; number += 1) await track(engine, 'hung', `${number}@hung.test`);
  await received(shop, 10);
  const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
    where datname = current_database() and state like 'idle in transaction%'
      and xact_start < now() - interval '1 second'`.execute(db);
  expect(rows).toEqual([{ count: 0 }]);
  answer();
  await engine.call('DELETE', `/event-subscriptions/${shop.id}`);
});
