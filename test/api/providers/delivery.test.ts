import { expect, it } from 'vitest';
import { sql } from 'kysely';
import { newAddress, useShop } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const { api, call, project, other } = await useShop();
const { db } = api;
const { id: contactId } = await db
  .insertInto('contact')
  .values({ project_id: project.id, email: newAddress(), subscribed: true })
  .returning('id')
  .executeTakeFirstOrThrow();

/** Inserts messages of a project. `columns` are SQL expressions. */
async function insertMail(count: number, columns: Record<string, string>, projectId = project.id) {
  const given = {
    project_id: `'${projectId}'::uuid`,
    contact_id: `'${contactId}'::uuid`,
    to_email: `'ada@people.test'`,
    subject: `'Hello'`,
    from_email: `'team@shop.test'`,
    message_class: `'TRANSACTIONAL'`,
    source_type: `'TRANSACTIONAL'`,
    ...columns,
  };
  await writeMail(db, (tx) =>
    sql`insert into email (${sql.raw(Object.keys(given).join(', '))})
      select ${sql.raw(Object.values(given).join(', '))}
        from generate_series(1, ${count}::int)`.execute(tx),
  );
}

it('says what became of mail by each provider, once the project has routes', async () => {
  const server = { kind: 'smtp', host: 'smtp.example.com', feedback: 'none' };
  const ids: string[] = [];
  for (const name of ['A', 'B']) {
    ids.push((await call('POST', '/providers', { name, ...server })).body.id);
  }
  const [a = '', b = ''] = ids;
  const byA = { provider_id: `'${a}'` };
  const hourAgo = `now() - interval '1 hour'`;
  const claimed = { ...byA, status: `'SENDING'`, attempt_id: 'gen_random_uuid()' };
  await insertMail(1, { ...claimed, lease_until: `now() + interval '1 hour'` });
  await insertMail(2, { ...claimed, lease_until: hourAgo });
  await insertMail(3, { ...byA, status: `'SENT'`, sent_at: hourAgo, due_at: 'null' });
  const delivered = { status: `'DELIVERED'`, sent_at: hourAgo, delivered_at: hourAgo };
  await insertMail(4, { ...byA, ...delivered, due_at: 'null' });
  const failed = { status: `'FAILED'`, error: `'550 no'`, refusal: `'provider_refused'` };
  await insertMail(5, { ...byA, ...failed, due_at: 'null' });
  const bounced = { status: `'BOUNCED'`, sent_at: hourAgo, bounced_at: hourAgo, due_at: 'null' };
  await insertMail(6, { ...byA, ...bounced });
  await insertMail(7, { status: `'SENT'`, sent_at: hourAgo, due_at: 'null' });
  const old = `now() - interval '25 hours'`;
  await insertMail(8, { ...byA, status: `'SENT'`, sent_at: old, due_at: 'null' });
  await insertMail(9, { ...byA, status: `'SENT'`, sent_at: hourAgo, due_at: 'null' }, other.id);

  const without = await call('GET', '/delivery');
  expect(without.body.providers).toBeUndefined();
  await call('PUT', '/routing', { routes: [{ match: {}, providers: [{ id: b }] }] });
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const { body } = await call('GET', '/delivery');
  const up = { state: 'up', nextTryAt: null };
  const none = { accepted: 0, refused: 0, delivered: 0, bounced: 0, complained: 0 };
  expect(body.providers).toEqual([
    {
      id: 'default',
      name: 'default',
      ...up,
      sending: 0,
      unknown: 0,
      last24Hours: { ...none, accepted: 7 },
    },
    {
      id: a,
      name: 'A',
      ...up,
      sending: 1,
      unknown: 2,
      last24Hours: { ...none, accepted: 13, refused: 5, delivered: 4, bounced: 6 },
    },
    { id: b, name: 'B', ...up, sending: 0, unknown: 0, last24Hours: none },
  ]);
  const key = other.secretKey;
  const { body: foreign } = await api.request('GET', '/delivery', { key });
  expect(foreign.providers).toBeUndefined();
});
