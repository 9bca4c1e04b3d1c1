import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { recordHeartbeat } from '../../../db/restores/heartbeat.ts';
import { endRestores, listOpenRestores, recordRepaired } from '../../../db/restores/restores.ts';
import type { KnownSweeps } from '../../../domain/runs/lost-history.ts';
import { useApi } from '../../support/api.ts';

const { db } = await useApi();

const sweeps = (number: number | null): KnownSweeps => ({
  createdAt: new Date(0),
  plannedAt: [],
  heartbeat: number === null ? null : { number, at: '2026-11-25T12:00:00.000Z' },
});
const knowing = (number: number | null) => ({ at: new Date(), known: sweeps(number) });

it('counts sweeps, and notices an older database once', async () => {
  const first = await recordHeartbeat(db, knowing(null));
  const second = await recordHeartbeat(db, knowing(first.heartbeat.number));
  expect(second).toEqual({
    heartbeat: { number: first.heartbeat.number + 1, at: expect.any(String) },
    restore: null,
  });
  // The database was put back by five sweeps.
  const third = await recordHeartbeat(db, knowing(second.heartbeat.number + 5));
  expect(third.restore).toMatchObject({ kind: 'database_older' });
  expect(third.heartbeat.number).toBe(second.heartbeat.number + 6);
  expect((await recordHeartbeat(db, knowing(third.heartbeat.number))).restore).toBe(null);
  const [restore, ...others] = await listOpenRestores(db);
  expect(others).toEqual([]);
  expect(restore).toMatchObject({
    kind: 'database_older',
    from_at: expect.any(Date),
    to_at: new Date('2026-11-25T12:00:00.000Z'),
  });
});

it('ends a restore that is repaired and holds no mail', async () => {
  const [restore] = await listOpenRestores(db);
  expect(await endRestores(db)).toBe(0);
  await recordRepaired(db, restore!.id);
  await sql`update restore set held_before = now()`.execute(db);
  expect(await endRestores(db)).toBe(0);
  await sql`update restore set held_before = null`.execute(db);
  expect(await endRestores(db)).toBe(1);
  expect(await listOpenRestores(db)).toEqual([]);
});
