import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const shop = await useShop();

/** Whether somebody waits for a lock in the database. */
async function someoneWaits(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(shop.api.db);
  return rows.length > 0;
}

it('an event is recorded although its request loses a deadlock', async () => {
  const { db } = shop.api;
  const email = newAddress();
  await shop.track({ email, event: 'first' });
  let tracked = Promise.resolve<unknown>(null);
  await db.transaction().execute(async (tx) => {
    await sql`select from contact where email = ${email} for update`.execute(tx);
    tracked = shop.track({ email, event: 'second' }).then(({ status }) => status);
    await waitFor('the request to wait for the contact', someoneWaits);
    // The request holds the project. It waits longer than this, so PostgreSQL ends it.
    await sql`select from project where id = ${shop.project.id} for update`.execute(tx);
  });
  expect(await tracked).toBe(200);
  const names = (await shop.eventsOf(email)).map(({ name }) => name);
  expect(names.filter((name) => name === 'second')).toHaveLength(1);
});
