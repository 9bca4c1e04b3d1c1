import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { noticeOlderDatabase, recordHeartbeat } from '../../../db/restores/heartbeat.ts';
import { endRestores, listOpenRestores, recordRepaired } from '../../../db/restores/restores.ts';
import type { KnownSweeps } from '../../../domain/runs/lost-history.ts';
import { useApi } from '../../support/api.ts';

const { db } = await useApi();

const knowing = (number: number | null): KnownSweeps => ({
  createdAt: new Date(0),
  plannedAt: [],
  heartbeat: number === null ? null : { number, at: '2026-11-25T12:00:00.000Z' },
});
const planned = new Date();

it('counts sweeps, and notices an older database once', async () => {
  const first = await recordHeartbeat(db, knowing(null), planned);
  const second = await recordHeartbeat(db, knowing(first.heartbeat.number), planned);
  expect(second).toEqual({
    heartbeat: { number: first.heartbeat.number + 1, at: expect.any(String) },
    restore: null,
  });
  // The database was put back by five sweeps.
  const third = await recordHeartbeat(db, knowing(second.heartbeat.number + 5), planned);
  expect(third.restore).toMatchObject({ kind: 'database_older' });
  expect(third.heartbeat.number).toBe(second.heartbeat.number + 6);
  expect((await recordHeartbeat(db, knowing(third.heartbeat.number), planned)).restore).toBe(null);
  const [restore, ...others] = await listOpenRestores(db);
  expect(others).toEqual([]);
  expect(restore).toMatchObject({
    kind: 'database_older',
    from_at: expect.any(Date),
    to_at: new Date('2026-11-25T12:00:00.000Z'),
    held_before: expect.any(Date),
  });
});

it('notices an older database before mail leaves, by two workers once', async () => {
  await sql`update restore set ended_at = now()`.execute(db);
  const { heartbeat } = await recordHeartbeat(db, knowing(null), planned);
  const later = knowing(heartbeat.number + 1);
  expect(await noticeOlderDatabase(db, knowing(heartbeat.number))).toBe(null);
  const noticed = await Promise.all([noticeOlderDatabase(db, later), noticeOlderDatabase(db, later)]);
  expect(noticed.filter((restore) => restore !== null)).toHaveLength(1);
  expect(await listOpenRestores(db)).toHaveLength(1);
});

it('ends a restore that is repaired and holds no mail', async () => {
  const [restore] = await listOpenRestores(db);
  await recordRepaired(db, restore!.id);
  expect(await endRestores(db)).toBe(0);
  await sql`update restore set held_before = null`.execute(db);
  expect(await endRestores(db)).toBe(1);
  expect(await listOpenRestores(db)).toEqual([]);
});
