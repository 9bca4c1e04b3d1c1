import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { v7 as uuidV7 } from 'uuid';
import { expect, it } from 'vitest';
import { claimIdempotencyKey, releaseLostKey } from '../../../db/idempotency.ts';
import { useApi } from '../../support/api.ts';
import { useTcpProxy } from '../../support/fakes/tcp-proxy.ts';
import { databaseBehind, useDatabase } from '../../support/servers.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The connection to the database breaks while a request claims its idempotency key. */

const { url, db } = await useDatabase();
const line = await useTcpProxy(new URL(url).host);
const api = await useApi({ DATABASE_URL: databaseBehind(line.address, url) });
const { cookie } = await api.signUp();
const { secretKey } = await api.createProject(cookie);

it('is free soon, although its claim was committed and the response was lost', async () => {
  const held = 4_714;
  await sql`create function hold_claim() returns trigger language plpgsql as ${sql.raw(
    `$$ begin perform pg_advisory_xact_lock_shared(${held}); return new; end $$`,
  )}`.execute(db);
  await sql`create trigger hold_claim before insert on idempotency
    for each row execute function hold_claim()`.execute(db);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  await holder.query(`select pg_advisory_lock(${held})`);
  const track = () =>
    api.request('POST', '/v1/track', {
      key: secretKey,
      headers: { 'Idempotency-Key': 'once' },
      body: { email: 'ada@people.test', event: 'ordered' },
    });
  const first = track();
  await waitFor('the claim', async () => {
    const { rows } = await sql`select from pg_locks
      where locktype = 'advisory' and objid = ${held} and not granted`.execute(db);
    return rows.length > 0;
  });
  // Requests still reach the server, but its responses are lost.
  line.mode = 'closed';
  await holder.end();
  await waitFor('the commit', async () => {
    const { rows } = await sql`select from idempotency`.execute(db);
    return rows.length > 0;
  });
  line.cut();
  expect((await first).status).toBe(503);
  line.mode = 'open';
  const again = await waitFor('an answer', async () => {
    const answer = await track();
    return answer.status === 200 ? answer : null;
  });
  expect(again.headers.get('idempotency-replayed')).toBeNull();
  const { rows } = await sql`select from event where name = 'ordered'`.execute(db);
  expect(rows).toHaveLength(1);
});

it('is not taken from a repeat by the end of the lost claim, when that is said twice', async () => {
  const named = { ownerId: randomUUID(), key: 'twice' };
  const claim = (useId: string) => {
    const what = { request: 'POST /v1/track', bodyHash: Buffer.from('body') };
    return claimIdempotencyKey(db, { ...named, ...what, useId, ttlHours: 24, shownTo: null });
  };
  const [lost, repeat] = [uuidV7(), uuidV7()];
  await claim(lost);
  await releaseLostKey(db, { ...named, useId: lost });
  expect(await claim(repeat)).toMatchObject({ useId: repeat, accepted: [] });
  await releaseLostKey(db, { ...named, useId: lost });
  expect(await claim(uuidV7())).toHaveProperty('row');
});

it('is found again by the same call', async () => {
  const use = { ownerId: randomUUID(), key: 'again', useId: uuidV7() };
  const what = { request: 'POST /v1/track', bodyHash: Buffer.from('body') };
  const given = { ...use, ...what, ttlHours: 24, shownTo: null };
  const first = await claimIdempotencyKey(db, given);
  expect(await claimIdempotencyKey(db, given)).toEqual(first);
});
