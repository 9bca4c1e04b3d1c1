import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { expect, it } from 'vitest';
import { takeAllowance } from '../../../db/billing/billing.ts';
import { openDatabase } from '../../../db/database.ts';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import { listEmails } from '../../../db/emails/records.ts';
import { following, ledgerColumns } from '../../../db/sql/ledger.ts';
import { useApi } from '../../support/api.ts';
import { pagesRead, rowsRead } from '../../support/rows-read.ts';
import { use } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Queries that find mail read few pages, and a claim checks the row again under its lock. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

/**
 * Creates a project with `many` contacts and one message for each. `columns` are SQL expressions in
 * which `n` is the row number.
 */
async function projectWith(many: number, columns: Record<string, string>) {
  const { id: projectId } = await api.createProject(cookie);
  const names = Object.keys(columns);
  await writeMail(db, (tx) =>
    sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        select ${projectId}, n || '@found.test', true from generate_series(1, ${many}::int) n returning id
    )
    insert into email (project_id, contact_id, to_email, subject, body, from_email, message_class, source_type,
        created_at, ${sql.raw(names.join(', '))})
      select ${projectId}, id, 'a@found.test', 'Hi', 'Hi', 'team@shop.test', 'TRANSACTIONAL', 'TRANSACTIONAL',
          now() - n * interval '1 second', ${sql.raw(Object.values(columns).join(', '))}
        from (select id, row_number() over () as n from made) made`.execute(tx),
  );
  await sql`analyze email, email_queue, email_moment`.execute(db);
  return projectId;
}

it('a message that is put off while a claim looks for what is due is not claimed', async () => {
  const projectId = await projectWith(2, { status: `'PENDING'`, due_at: 'now()' });
  // The claim weighs each body between reading and locking it, and is held there.
  const held = 4_713;
  await sql`create function public.octet_length(text) returns int volatile language sql as ${sql.raw(
    `$$ select pg_catalog.octet_length($1) from pg_advisory_xact_lock_shared(${held}) $$`,
  )}`.execute(db);
  const { databaseUrl } = api.services.config;
  const slowUrl = new URL(databaseUrl);
  slowUrl.searchParams.set('options', '-c search_path=public,pg_catalog');
  const { db: slow } = use(openDatabase(slowUrl.href.replaceAll('+', '%20')));
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query(`select pg_advisory_lock(${held})`);
  const claim = claimDueEmails(slow, {
    projectId,
    attemptId: randomUUID(),
    max: 10,
    leaseSeconds: 60,
    throttled: false,
  });
  await waitFor('the claim to look', async () => {
    const { rows } = await sql`select from pg_locks
      where locktype = 'advisory' and objid = ${held} and not granted`.execute(db);
    return rows.length > 0;
  });
  const [first] = await db
    .selectFrom('email')
    .select('id')
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute();
  // Not by `writeMail`, which would wait for the claim.
  await sql`
    with moved as (
      update email set due_at = now() + interval '1 day' where id = ${first!.id}
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'moved' }, ['queue'])}
    select`.execute(db);
  await holder.end();
  const claimed = await claim;
  expect(claimed).toHaveLength(1);
  expect(claimed[0]!.id).not.toBe(first!.id);
});

it('a page of what was opened or has bounced reads about a page', async () => {
  const campaignId = randomUUID();
  const projectId = await projectWith(12_000, {
    campaign_id: `'${campaignId}'`,
    status: `case when n % 4000 = 0 then 'BOUNCED' else 'OPENED' end`,
    sent_at: 'now()',
    opened_at: 'case when n % 4000 <> 0 then now() end',
    bounced_at: 'case when n % 4000 = 0 then now() end',
  });
  const isCount = (text: string) => text.includes('count(*)');
  const opened = await listEmails(db, projectId, { status: 'OPENED', limit: 20 });
  expect([opened.rows.length, opened.total]).toEqual([20, 11_997]);
  const bounced = await listEmails(db, projectId, { status: 'BOUNCED', limit: 20 });
  expect([bounced.rows.length, bounced.total]).toEqual([3, 3]);
  const contactId = bounced.rows[0]!.contact_id;
  const own = await listEmails(db, projectId, { status: 'BOUNCED', contactId, limit: 20 });
  expect([own.rows.length, own.total]).toEqual([1, 1]);
  const ofCampaign = await listEmails(db, projectId, { status: 'BOUNCED', campaignId, limit: 20 });
  expect([ofCampaign.rows.length, ofCampaign.total]).toEqual([3, 3]);
  const queries = [
    { status: 'OPENED' },
    { status: 'BOUNCED' },
    { status: 'BOUNCED', campaignId },
    { status: 'OPENED', campaignId },
  ];
  for (const query of queries) {
    const ask = () => listEmails(db, projectId, { ...query, limit: 20 });
    // Each of the 20 messages looks up its campaign, and the experiment of the campaign.
    expect(await pagesRead(db, ask, isCount)).toBeLessThan(110);
  }
  const ask = () => listEmails(db, projectId, { status: 'OPENED', contactId, limit: 20 });
  expect(await pagesRead(db, ask)).toBeLessThan(20);
});

it('a project’s mail that waits is not read when another’s is counted', async () => {
  await projectWith(5_000, { status: `'PENDING'`, due_at: `now() + interval '1 day'` });
  const projectId = await projectWith(3, { status: `'PENDING'`, due_at: 'now()' });
  const given = { projectId, category: 'transactional', units: 1, at: null } as const;
  const take = () => takeAllowance(db, { freeTierPerMonth: 1_000 }, given);
  expect(await rowsRead(db, take)).toBeLessThan(100);
  const [taken] = await db
    .selectFrom('allowance')
    .select('taken')
    .where('project_id', '=', projectId)
    .where('category', '=', 'transactional')
    .execute();
  // Taken twice: by the call and by EXPLAIN.
  expect(taken!.taken).toBe(5);
});
