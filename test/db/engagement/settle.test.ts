import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { settleDue } from '../../../db/transactions/engagement/settle.ts';
import { useApi } from '../../support/api.ts';
import { insertTestEmail } from '../../support/projects/mails.ts';
import { rowsRead } from '../../support/rows-read.ts';

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

/** Inserts due clicks on mails of a new project. Returns the ids of the mails. */
async function withDueClicks(mails: number, clicks: number): Promise<string[]> {
  const { id: projectId } = await api.createProject(cookie);
  const ids: string[] = [];
  for (let n = 0; n < mails; n++) {
    const { id: contactId } = await db
      .insertInto('contact')
      .values({ project_id: projectId, email: `${randomUUID()}@people.test`, subscribed: true })
      .returning('id')
      .executeTakeFirstOrThrow();
    const sent = { sent_at: new Date(Date.now() - 60_000) };
    ids.push(await insertTestEmail(db, { projectId, contactId }, sent));
  }
  await sql`
    insert into engagement (project_id, email_id, at, kind, link, link_id, link_count, client, settle_at)
      select ${projectId}, id, now() - interval '20 seconds', 'click', 'https://shop.example/',
          '0123456789abcdef', 1, 'someone', now() - interval '10 seconds'
        from unnest(${ids}::uuid[]) id, generate_series(1, ${clicks}::int)`.execute(db);
  return ids;
}

const unsettled = async (ids: string[]) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from engagement
      where email_id = any(${ids}::uuid[]) and settle_at is not null`.execute(db);
  return rows[0]!.count;
};
const fail = (error: unknown) => {
  throw error;
};

it('a flood of one project does not delay the clicks of another', async () => {
  const flooded = await withDueClicks(40, 50);
  const [own] = await withDueClicks(1, 1);
  // The first page of the first round has a share of each project.
  let asked = 0;
  await settleDue(db, fail, () => (asked += 1) > 2);
  expect(await unsettled([own!])).toBe(0);
  expect(await unsettled(flooded)).toBeGreaterThan(1_000);
  await settleDue(db, fail, () => false);
  expect(await unsettled(flooded)).toBe(0);
});

it('a mail that another transaction has locked is left for the next time', async () => {
  const [locked, free] = await withDueClicks(2, 1);
  await db.transaction().execute(async (tx) => {
    await sql`select from email where id = ${locked} for update`.execute(tx);
    let asked = 0;
    await settleDue(db, fail, () => (asked += 1) > 2);
    expect(await unsettled([free!])).toBe(0);
    expect(await unsettled([locked!])).toBe(1);
  });
  await settleDue(db, fail, () => false);
  expect(await unsettled([locked!])).toBe(0);
});

it('looks at no finished request while none waits', async () => {
  const ids = await withDueClicks(20, 50);
  await settleDue(db, fail, () => false);
  expect(await unsettled(ids)).toBe(0);
  await sql`vacuum analyze engagement`.execute(db);
  const rows = await rowsRead(db, () => settleDue(db, fail, () => false));
  expect(rows).toBeLessThan(10);
});
