import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { transact } from '../../../db/database.ts';
import { statusOf } from '../../../db/sql/mail-status.ts';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';
import { dropContacts } from '../mail-tables.ts';

/** Inserts this number of subscribed contacts into the database. Returns their addresses. */
export async function insertContacts(
  engine: Engine,
  count: number,
  given: { subscribed?: boolean } = {},
): Promise<string[]> {
  const mark = randomUUID().slice(0, 8);
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${engine.project.id}, ${`${mark}-`}::text || n || '@people.test',
          ${given.subscribed ?? true}, jsonb_build_object('name', 'No. ' || n)
        from generate_series(1, ${count}::int) n`.execute(engine.api.db);
  return Array.from({ length: count }, (_, index) => `${mark}-${index + 1}@people.test`);
}

/**
 * Deletes all contacts. Mail to them may be in progress, so they are locked in the order that all
 * code uses.
 */
export async function deleteContacts({ api }: Engine): Promise<void> {
  await transact(api.db, async (tx) => {
    await tx.selectFrom('contact').select('id').orderBy('id').forUpdate().execute();
    await dropContacts(tx);
  });
}

/** Creates a campaign to all contacts, with the changes in `given`. Returns its id. */
export async function createCampaign(
  engine: Pick<Engine, 'call' | 'domain'>,
  given: object = {},
): Promise<string> {
  const { status, body } = await engine.call('POST', '/campaigns', {
    name: 'Spring sale',
    subject: 'Hello {{name ?? you}}',
    body: '<p>20% off, {{name ?? you}}. <a href="https://shop.test/">Shop</a></p>',
    from: `news@${engine.domain}`,
    audienceType: 'ALL',
    ...given,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data.id as string;
}

/** Performs an action that must succeed. Returns the campaign. */
export async function act(engine: Engine, id: string, action: string, body?: object) {
  const answer = await engine.call('POST', `/campaigns/${id}/${action}`, body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.data;
}

export async function campaignOf(engine: Engine, id: string) {
  return (await engine.call('GET', `/campaigns/${id}`)).body.data;
}

/** Returns the campaign, once it has the status. */
export async function campaignIn(engine: Engine, id: string, status: string, timeoutMs?: number) {
  const ask = async () => {
    const campaign = await campaignOf(engine, id);
    return campaign.status === status ? campaign : null;
  };
  return waitFor(`campaign ${id} ${status}`, ask, timeoutMs);
}

/** Counts the messages of a campaign by status. */
export async function emailStatuses(engine: Engine, id: string): Promise<Record<string, number>> {
  const rows = await engine.api.db
    .selectFrom('email')
    .select([statusOf('email').as('status'), sql<number>`count(*)::int`.as('count')])
    .where('campaign_id', '=', id)
    .groupBy(sql`1`)
    .execute();
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
