import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { Database } from '../../db/database.ts';
import { useDatabase } from '../support/servers.ts';
import { waitFor } from '../support/wait-for.ts';

const timeouts = { lockMs: 1_000, statementMs: 5_000, connectionMs: 300 };

/** Starts transactions of a tenant that hold their connections until they are released. */
function crowd(within: (work: (db: Database) => Promise<void>) => Promise<void>, count: number) {
  let open = 0;
  let letGo = () => {};
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  const all = Array.from({ length: count }, () =>
    within((db) =>
      db.transaction().execute(async (tx) => {
        await sql`select 1`.execute(tx);
        open += 1;
        await gate;
      }),
    ),
  );
  return { open: () => open, letGo, ended: Promise.allSettled(all) };
}

it('a tenant alone gets three quarters of the pool, the next a part of the rest, others what they need', async () => {
  const { db, shares, pool } = await useDatabase({ poolMax: 20 });
  const first = crowd((work) => shares.within('first', work), 30);
  await waitFor('fifteen', () => first.open() === 15);
  const second = crowd((work) => shares.within('second', work), 30);
  await waitFor('three', () => second.open() === 3);
  const third = crowd((work) => shares.within('third', work), 30);
  await waitFor('one', () => third.open() === 1);
  expect([first.open(), second.open(), third.open()]).toEqual([15, 3, 1]);
  // One connection is left for work without a tenant.
  await Promise.all(Array.from({ length: 10 }, () => sql`select 1`.execute(db)));

  for (const { letGo } of [third, first, second]) letGo();
  const ends = await Promise.all([first, second, third].map(({ ended }) => ended));
  expect(ends.flat().filter(({ status }) => status === 'rejected')).toEqual([]);
  expect([first.open(), second.open(), third.open()]).toEqual([30, 30, 30]);
  expect(pool.totalCount).toBe(pool.idleCount);
});

it('who waits too long for a connection is refused, and the share works again after that', async () => {
  const { shares } = await useDatabase({ poolMax: 4, timeouts });
  const within = (work: (db: Database) => Promise<void>) => shares.within('one', work);
  const holding = crowd(within, 3);
  await waitFor('three', () => holding.open() === 3);
  const late = crowd(within, 5);
  const ends = await late.ended;
  expect(ends.map((end) => end.status === 'rejected' && end.reason.code)).toEqual(
    Array.from({ length: 5 }, () => 'SERVICE_UNAVAILABLE'),
  );
  holding.letGo();
  await holding.ended;
  const after = crowd(within, 5);
  after.letGo();
  expect((await after.ended).map(({ status }) => status)).toEqual(
    Array.from({ length: 5 }, () => 'fulfilled'),
  );
});

it('a connection that breaks while it is used leaves its share', async () => {
  const { db, shares } = await useDatabase({
    poolMax: 4,
    timeouts: { ...timeouts, connectionMs: 10_000 },
  });
  const killed = shares.within('one', (one) =>
    one.transaction().execute(async (tx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx);
      await sql`select pg_terminate_backend(${rows[0]!.pid})`.execute(db);
      await sql`select 1`.execute(tx);
    }),
  );
  await expect(killed).rejects.toThrow();
  const after = crowd((work) => shares.within('one', work), 4);
  await waitFor('three', () => after.open() === 3);
  after.letGo();
  expect((await after.ended).map(({ status }) => status)).toEqual(
    Array.from({ length: 4 }, () => 'fulfilled'),
  );
});
