import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const shop = await useShop();

/** Returns true if a transaction waits for a lock in the database. */
async function someoneWaits(): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(shop.api.db);
  return rows.length > 0;
}

/**
 * Lets an event of a new contact deadlock with a transaction of the test. Returns null when
 * PostgreSQL ended the test's transaction: it ends the one with the shorter wait, which on a
 * busy machine may be either.
 */
async function trackIntoDeadlock(): Promise<{ status: unknown; names: string[] } | null> {
  const { db } = shop.api;
  const email = newAddress();
  await shop.track({ email, event: 'first' });
  let tracked = Promise.resolve<unknown>(null);
  const ended = await db
    .transaction()
    .execute(async (tx) => {
      await sql`select from contact where email = ${email} for update`.execute(tx);
      tracked = shop.track({ email, event: 'second' }).then(({ status }) => status);
      await waitFor('the request to wait for the contact', someoneWaits);
      // The request has locked the project.
      await sql`select from project where id = ${shop.project.id} for update`.execute(tx);
    })
    .catch((error: unknown) => error as { code: string });
  const status = await tracked;
  if (ended) expect(ended.code).toBe('40P01');
  return ended ? null : { status, names: (await shop.eventsOf(email)).map(({ name }) => name) };
}

it('an event is recorded although its request loses a deadlock', async () => {
  let lost: Awaited<ReturnType<typeof trackIntoDeadlock>> = null;
  for (let time = 0; lost === null && time < 5; time += 1) lost = await trackIntoDeadlock();
  expect(lost?.status).toBe(200);
  expect(lost?.names.filter((name) => name === 'second')).toHaveLength(1);
});
