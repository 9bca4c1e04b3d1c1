import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { createWaitSlots } from '../../../activities/mail/wait-slots.ts';
import { useEngine } from '../../support/engine.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Throttled tenants do not delay another one. */

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '2' });
const { db } = engine.api;

/**
 * Creates a project with a sender domain and 60 contacts; `call` is a request with its secret
 * key.
 */
async function createTenant() {
  const { cookie } = await engine.api.signUp();
  const { id, secretKey: key } = await engine.api.createProject(cookie);
  const call = async (path: string, body: object) => {
    const answer = await engine.api.request('POST', path, { key, body });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const domain = `${newAddress().split('@')[0]}.test`;
  await call('/domains', { domain });
  await sql`
    insert into contact (project_id, email, subscribed)
      select ${id}, ${domain}::text || n || '@people.test', true
        from generate_series(1, 60) n`.execute(db);
  return { call, from: `a@${domain}` };
}

it('leave it a slot: its mail goes at once', { timeout: 120_000 }, async () => {
  // Each has four senders of a campaign and a delivery: twice as many as the worker has slots.
  for (let tenant = 0; tenant < 3; tenant += 1) {
    const { call, from } = await createTenant();
    const content = { subject: 'Hi', body: '<p>Hi</p>', from };
    const { data } = await call('/campaigns', { name: 'A', audienceType: 'ALL', ...content });
    await call(`/campaigns/${data.id}/send`, {});
    await call('/v1/send', { to: Array.from({ length: 30 }, newAddress), ...content });
  }
  await sleep(2_000);
  const { call, from } = await createTenant();
  for (let turn = 0; turn < 2; turn += 1) {
    const to = newAddress();
    const began = Date.now();
    await call('/v1/send', { to, from, subject: 'Hi', body: '<p>Hi</p>' });
    await engine.mailsTo(to, 1);
    // About a second on an idle machine; without its slots, up to a minute.
    expect(Date.now() - began).toBeLessThan(8_000);
  }
  const { sent } = await db
    .selectFrom('email')
    .select(sql<number>`count(*) filter (where sent_at is not null)::int`.as('sent'))
    .executeTakeFirstOrThrow();
  // The others were throttled.
  expect(sent).toBeLessThan(270);
});

it('have a place to wait each, before one of them has several', async () => {
  const waitSlots = createWaitSlots(4);
  const stop = new AbortController();
  const waits = (owner: string) =>
    Promise.race([waitSlots.wait(owner, 60_000, stop.signal), sleep(1, 'waits')]);
  expect(await waits('a')).toBe('waits');
  expect(await waits('a')).toBe('waits');
  expect(await waits('a')).toBe(false);
  expect(await waits('b')).toBe('waits');
  expect(await waits('c')).toBe('waits');
  expect(await waits('d')).toBe(false);
  stop.abort();
  await waitFor('free places', async () => (await waits('d')) === true);
});
