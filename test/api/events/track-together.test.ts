import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Records the events of many requests in one transaction. */

const shop = await useShop();
const { api, track } = shop;
const { db } = api;

const addresses = (count: number) => Array.from({ length: count }, () => newAddress());

const trackAll = (emails: readonly string[], given: object = {}) =>
  Promise.all(emails.map((email) => track({ email, data: { mark: email }, ...given })));

const statuses = (answers: readonly { status: number }[]) =>
  new Set(answers.map(({ status }) => status));

describe('events that come together', () => {
  it('are recorded in few transactions, each answered with its own', async () => {
    const emails = addresses(60);
    for (const email of emails.slice(0, 10)) await track({ email, data: { plan: 'pro' } });
    const answers = await trackAll(emails, { event: 'together' });
    expect(statuses(answers)).toEqual(new Set([200]));
    const { rows } = await sql<{ transactions: number }>`
      select count(distinct xmin::text)::int as transactions
        from event where name = 'together'`.execute(db);
    expect(rows[0]!.transactions).toBeLessThan(30);
    for (const [index, email] of emails.entries()) {
      const contact = (await shop.contact(email))!;
      const data = index < 10 ? { plan: 'pro', mark: email } : { mark: email };
      expect([contact.data, contact.subscribed]).toEqual([data, true]);
      const event = await db
        .selectFrom('event')
        .select(['contact_id', 'data', 'created_at'])
        .where('id', '=', answers[index]!.body.data.event)
        .executeTakeFirstOrThrow();
      expect(event).toMatchObject({ contact_id: contact.id, data: { mark: email } });
      expect(answers[index]!.body.data).toMatchObject({
        contact: contact.id,
        timestamp: event.created_at.toISOString(),
      });
    }
  });

  it('are all of a contact that has several, and leave one alone that has all of it', async () => {
    const email = newAddress();
    await track({ email, data: { plan: 'pro' } });
    const before = await shop.contact(email);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => track({ email, data: { plan: 'pro' } })),
    );
    expect(statuses(answers)).toEqual(new Set([200]));
    expect(await shop.eventsOf(email)).toHaveLength(11);
    expect(await shop.contact(email)).toEqual(before);
  });

  it('start the workflows of their name, each with a run in Temporal', async () => {
    const { body: workflow } = await shop.call('POST', '/workflows', {
      name: 'W',
      eventName: 'starts together',
    });
    const path = `/workflows/${workflow.id}`;
    await shop.call('POST', `${path}/steps`, { type: 'EXIT', name: 'Out', config: {} });
    expect((await shop.call('PATCH', path, { enabled: true })).status).toBe(200);
    const before = api.dispatched.length;
    const answers = await trackAll(addresses(20), { event: 'starts together' });
    const executions = await db
      .selectFrom('execution')
      .select(['id', 'contact_id'])
      .where('workflow_id', '=', workflow.id)
      .execute();
    const contacts = answers.map(({ body }) => body.data.contact as string);
    expect(executions.map((row) => row.contact_id).toSorted()).toEqual(contacts.toSorted());
    expect(api.dispatched.slice(before).toSorted()).toEqual(
      executions.map(({ id }) => `execution-${id}`).toSorted(),
    );
  });

  it('are recorded beside one that is refused', async () => {
    const [full, ...others] = addresses(20);
    const large = { text: 'x'.repeat(40_000) };
    expect((await track({ email: full, data: large })).status).toBe(200);
    const [refused, ...answers] = await Promise.all([
      track({ email: full, data: { more: large.text } }),
      ...others.map((email) => track({ email, data: { mark: email } })),
    ]);
    expect(refused.status).toBe(422);
    expect(statuses(answers)).toEqual(new Set([200]));
    expect(await shop.eventsOf(full!)).toHaveLength(1);
    expect((await shop.contact(full!))!.data).toEqual(large);
    for (const email of others) expect(await shop.eventsOf(email)).toHaveLength(1);
  });

  it('do not wait for the contact of one of them', async () => {
    const [held, ...others] = addresses(20);
    await track({ email: held });
    let waiting: ReturnType<typeof track> | undefined;
    let isOver = false;
    await db.transaction().execute(async (tx) => {
      await sql`select from contact where email = ${held} for update`.execute(tx);
      waiting = track({ email: held, data: { late: true } });
      void waiting.then(() => (isOver = true));
      expect(statuses(await trackAll(others))).toEqual(new Set([200]));
      expect(statuses(await trackAll(others))).toEqual(new Set([200]));
      expect(isOver).toBe(false);
    });
    expect((await waiting!).status).toBe(200);
    expect((await shop.contact(held!))!.data).toEqual({ late: true });
  });

  it('wait only shortly for a contact that another request is creating', async () => {
    const [held, ...others] = addresses(10);
    let waiting: ReturnType<typeof track> | undefined;
    await db.transaction().execute(async (tx) => {
      await sql`insert into contact (project_id, email, subscribed)
        values (${shop.project.id}, ${held}, true)`.execute(tx);
      waiting = track({ email: held });
      await waitFor('the event to wait', async () => {
        const { rows } = await sql`select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
        return rows.length > 0;
      });
      const began = performance.now();
      expect(statuses(await trackAll(others))).toEqual(new Set([200]));
      // Less than the timeout of locks.
      expect(performance.now() - began).toBeLessThan(4_000);
    });
    expect((await waiting!).status).toBe(200);
  });
});
