import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { foldEventTally } from '../../../../db/transactions/events/delete-events.ts';
import { listEventNames } from '../../../../db/events/statistics.ts';
import { recordEvents } from '../../../../db/transactions/events/record-events.ts';
import { useDatabase } from '../../../support/servers.ts';

const projectId = randomUUID();
const { db } = await useDatabase({ poolMax: 12 });

/** Returns the tallies of the project that differ from a count of its events. */
async function wrongTallies(): Promise<unknown[]> {
  const { rows } = await sql`
    select * from (
        select name, day, sum(count) as count from event_tally
          where project_id = ${projectId} group by 1, 2 having sum(count) <> 0) tally
      full join (
        select name, (created_at at time zone 'UTC')::date as day, count(*) from event
          where project_id = ${projectId} group by 1, 2) counted
        using (name, day)
      where tally.count is distinct from counted.count`.execute(db);
  return rows;
}

const record = (names: string[]) =>
  db.transaction().execute(async (tx) => {
    for (const name of names) {
      await recordEvents(tx, projectId, [{ contactId: null, name, data: null }]);
    }
  });

it('is exact while events are recorded, deleted and folded at the same time', async () => {
  // Transactions record the names in both orders. They would deadlock if they locked the counters.
  const work = Array.from({ length: 60 }, (_, n) => async () => {
    if (n % 10 === 3) return foldEventTally(db);
    if (n % 10 === 7) {
      await sql`delete from event where id in (select id from event limit 5 for update skip locked)`.execute(
        db,
      );
      return;
    }
    await record(n % 2 === 0 ? ['a', 'b'] : ['b', 'a']);
  });
  await Promise.all(work.map((piece) => piece()));
  expect(await wrongTallies()).toEqual([]);
  await foldEventTally(db);
  await foldEventTally(db);
  expect(await wrongTallies()).toEqual([]);
  const { rows } = await sql`select from event_tally where project_id = ${projectId}`.execute(db);
  expect(rows).toHaveLength(2);
});

it('does not make recorders of one name wait for each other', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let recorded = () => {};
  const first = new Promise<void>((resolve) => {
    recorded = resolve;
  });
  const one = db.transaction().execute(async (tx) => {
    await recordEvents(tx, projectId, [{ contactId: null, name: 'hot', data: null }]);
    recorded();
    await held;
  });
  await first;
  await record(['hot']);
  await foldEventTally(db);
  release();
  await one;
  expect(await wrongTallies()).toEqual([]);
});

it('follows events that are moved or renamed', async () => {
  await record(['moved', 'moved']);
  await sql`update event set created_at = '2020-01-01T23:59:59.999Z' where name = 'moved'`.execute(
    db,
  );
  expect(await wrongTallies()).toEqual([]);
  await sql`update event set name = 'renamed' where name = 'moved'`.execute(db);
  expect(await wrongTallies()).toEqual([]);
  const names = await listEventNames(db, projectId);
  expect([names.includes('moved'), names.includes('renamed')]).toEqual([false, true]);
});
