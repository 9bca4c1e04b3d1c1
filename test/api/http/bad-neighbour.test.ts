import { createServer } from 'node:net';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { codeOf, type TestAnswer, useApi } from '../../support/api.ts';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { listen, use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

const unavailable = [503, 'SERVICE_UNAVAILABLE'];
const retryAfter = ({ headers }: TestAnswer) => headers.get('retry-after');

describe('a project whose rows are locked', async () => {
  const shop = await useShop({
    DATABASE_LOCK_TIMEOUT_MS: '1000',
    DATABASE_CONNECTION_TIMEOUT_MS: '2000',
  });
  const { api, other } = shop;

  /** Locks the row of a contact in another transaction, until it is released. */
  async function lockContact(email: string) {
    const client = new pg.Client({ connectionString: api.services.config.databaseUrl });
    await client.connect();
    await client.query('begin');
    await client.query('select from contact where email = $1 for update', [email]);
    return use({ close: () => client.end() });
  }

  const countWaiting = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(api.db);
    return rows[0]!.count;
  };

  async function promptly(answering: Promise<TestAnswer>): Promise<number> {
    const began = performance.now();
    const { status } = await answering;
    // Less than the requests of the other project wait.
    expect(performance.now() - began).toBeLessThan(1_000);
    return status;
  }

  it('waits alone, gets Retry-After, and then sends each mail once', async () => {
    const to = newAddress();
    expect((await shop.send({ to })).status).toBe(200);
    const lock = await lockContact(to);
    const sends = Array.from({ length: 40 }, (_, index) => {
      const headers = { 'Idempotency-Key': `mail ${index}` };
      return () => shop.send({ to, subject: `Mail ${index}` }, headers);
    });
    const refused = Promise.all(sends.map((send) => send()));
    await waitFor('its share to be in use', async () => (await countWaiting()) === 7);

    const email = newAddress();
    const key = other.secretKey;
    for (let time = 0; time < 5; time += 1) {
      const body = { email, event: 'clicked' };
      expect(await promptly(api.request('POST', '/v1/track', { key, body }))).toBe(200);
      expect(await promptly(api.request('GET', '/contacts', { key }))).toBe(200);
      expect(await promptly(api.request('GET', '/health/ready'))).toBe(200);
    }

    const answers = await refused;
    expect([...new Set(answers.map((answer) => codeOf(answer).join()))]).toEqual([
      unavailable.join(),
    ]);
    expect(new Set(answers.map(retryAfter))).toEqual(new Set(['5']));
    await lock.close();
    const again = await Promise.all(sends.map((send) => send()));
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    const repeated = await Promise.all(sends.map((send) => send()));
    expect(new Set(repeated.map(({ headers }) => headers.get('idempotency-replayed')))).toEqual(
      new Set(['true']),
    );
    const subjects = (await shop.emailsTo(to)).map(({ subject }) => subject);
    expect(subjects.toSorted()).toEqual(
      ['Hello', ...sends.map((_, index) => `Mail ${index}`)].toSorted(),
    );
  }, 30_000);
});

describe('a statement that takes too long', async () => {
  const shop = await useShop({ DATABASE_STATEMENT_TIMEOUT_MS: '700' });

  it('is ended with 503, and nothing of its request is done', async () => {
    await sql`
      create function be_slow() returns trigger language plpgsql as
        $$ begin perform pg_sleep(30); return new; end $$`.execute(shop.api.db);
    await sql`create trigger slow before insert on event for each row execute function be_slow()`.execute(
      shop.api.db,
    );
    const email = newAddress();
    const headers = { 'Idempotency-Key': 'slow' };
    const slow = await shop.track({ email }, headers);
    expect([...codeOf(slow), retryAfter(slow)]).toEqual([...unavailable, '5']);
    expect(await shop.contact(email)).toBeUndefined();
    await sql`drop trigger slow on event`.execute(shop.api.db);
    expect((await shop.track({ email }, headers)).status).toBe(200);
    expect((await shop.eventsOf(email)).filter(({ name }) => name === 'clicked')).toHaveLength(1);
  });
});

describe('a database', async () => {
  const hole = use(await listen(createServer()));

  it.each([
    ['that refuses connections', 'postgres://nobody@127.0.0.1:1/none'],
    ['that accepts them and says nothing', `postgres://nobody@127.0.0.1:${hole.port}/none`],
  ])('%s is told by 503', async (_, url) => {
    const api = await useApi({ DATABASE_URL: url, DATABASE_CONNECTION_TIMEOUT_MS: '500' });
    const answer = await api.request('GET', '/contacts', { key: `sk_${'0'.repeat(64)}` });
    expect([...codeOf(answer), retryAfter(answer)]).toEqual([...unavailable, '5']);
    const ready = await api.request('GET', '/health/ready');
    expect([ready.status, ready.body.checks.database]).toEqual([503, 'failed']);
    expect((await api.request('GET', '/health')).status).toBe(200);
  });
});
