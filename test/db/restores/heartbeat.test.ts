import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { noticeOlderDatabase, recordHeartbeat } from '../../../db/restores/heartbeat.ts';
import {
  endRestores,
  holdAtStart,
  listOpenRestores,
  recordRepaired,
} from '../../../db/restores/restores.ts';
import { holdMail } from '../../../db/transactions/restores/hold-mail.ts';
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

it('notices an older database before mail leaves, by two workers once', async () => {
  await sql`update restore set ended_at = now()`.execute(db);
  const { heartbeat } = await recordHeartbeat(db, knowing(null));
  const later = sweeps(heartbeat.number + 1);
  expect(await noticeOlderDatabase(db, sweeps(heartbeat.number))).toBe(null);
  const noticed = await Promise.all([
    noticeOlderDatabase(db, later),
    noticeOlderDatabase(db, later),
  ]);
  expect(noticed.filter((restore) => restore !== null)).toHaveLength(1);
  expect(await listOpenRestores(db)).toHaveLength(1);
});

it('ends a restore that is repaired, once all mail of before is held and decided', async () => {
  const [restore] = await listOpenRestores(db);
  expect(await endRestores(db)).toBe(0);
  await recordRepaired(db, restore!.id);
  expect(await endRestores(db)).toBe(0);
  await holdMail(db);
  expect(await endRestores(db)).toBe(1);
  expect(await listOpenRestores(db)).toEqual([]);
  const { rows } = await sql`select held_before from installation`.execute(db);
  expect(rows).toEqual([{ held_before: null }]);
});

it('holds all mail with MAIL_HOLD, once until a worker starts without it', async () => {
  const counts = [];
  for (const isHolding of [true, true, false, true]) {
    await holdAtStart(db, isHolding);
    counts.push((await listOpenRestores(db)).length);
  }
  expect(counts).toEqual([1, 1, 1, 2]);
});
