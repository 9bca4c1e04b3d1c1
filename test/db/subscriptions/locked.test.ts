import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { listForgotten, reconcileRecorded } from '../../../db/subscriptions/upkeep.ts';
import { foldEventTally } from '../../../db/transactions/events/delete-events.ts';
import { useDatabase } from '../../support/servers.ts';

/** A project whose subscriptions are locked does not hold up the others. */

const { db } = await useDatabase({
  timeouts: { lockMs: 500, statementMs: 5_000, connectionMs: 5_000 },
});

let locked = '';
let free = '';

beforeEach(async () => {
  locked = await subscribe();
  free = await subscribe();
});

afterEach(async () => {
  await sql`delete from project`.execute(db);
});

/** Creates a subscription in a project of its own with one new event. Returns its id. */
async function subscribe(): Promise<string> {
  const projectId = randomUUID();
  await sql`insert into project
      (id, name, public_key, secret_key_hash, secret_key_last4, webhook_signing_secret)
    values (${projectId}, 'Shop', ${projectId}, ${projectId}::text::bytea, '1234', '\\x00')`.execute(
    db,
  );
  const { rows } = await sql<{ id: string }>`
    insert into event_subscription (project_id, url, events, secret, next_reconcile_at)
      values (${projectId}, 'https://hooks.test/', '{*}', '\\x00', now() + interval '1 hour')
      returning id`.execute(db);
  await sql`insert into event_tally (project_id, name, day, count)
    values (${projectId}, 'paid', current_date, 1)`.execute(db);
  return rows[0]!.id;
}

const whileLocked = (work: () => Promise<unknown>) =>
  transact(db, async (tx) => {
    await sql`select from event_subscription where id = ${locked} for update`.execute(tx);
    await work();
  });

const due = async () => {
  const { rows } = await sql<{ id: string }>`
    select id from event_subscription where next_reconcile_at <= now() order by id`.execute(db);
  return rows.map(({ id }) => id);
};

it('skips locked subscriptions when it looks for new events, until the lock ends', async () => {
  await whileLocked(() => reconcileRecorded.execute(db));
  expect(await due()).toEqual([free]);
  await reconcileRecorded.execute(db);
  expect(await due()).toEqual([locked, free].toSorted());
});

it('merges the counts of events, and checks locked subscriptions later', async () => {
  await whileLocked(() => foldEventTally(db));
  expect(await due()).toEqual([free]);
  await foldEventTally(db);
  expect(await due()).toEqual([locked, free].toSorted());
  await sql`update event_subscription set next_reconcile_at = now() + interval '1 hour'`.execute(
    db,
  );
  await foldEventTally(db);
  expect(await due()).toEqual([]);
});

it('lists the due subscriptions of other projects', async () => {
  await sql`update event_subscription set next_reconcile_at = now() - interval '1 minute'`.execute(
    db,
  );
  await whileLocked(() => listForgotten(db, null));
  expect(await due()).toEqual([locked]);
});
