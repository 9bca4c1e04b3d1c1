import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { mailTableFaults } from '../../support/mail-tables.ts';
import { randomOf } from '../../support/random.ts';

/** The tables that find mail agree with the rows of mail. */

const api = await useApi();
const { db } = api;

const moments = [
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
  'bounced_at',
  'complained_at',
];

/** Returns SQL with a random change of a message. */
function changeOf(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const later = () => `now() + ${Math.floor(random() * 4) - 2} * interval '1 hour'`;
  const status = pick(['PENDING', 'PENDING', 'SENDING', 'SENT', 'DELIVERED', 'BOUNCED', 'FAILED']);
  const parts = [
    `status = '${status}', error = ${status === 'FAILED' ? `'refused'` : 'null'}`,
    `lease_until = ${status === 'SENDING' ? later() : 'null'}`,
    `due_at = ${pick([later(), 'null', 'due_at'])}`,
    `hold_reason = ${pick(['null', `'quiet_hours'`, 'hold_reason'])}`,
    `held_until = ${pick([later(), 'held_until'])}`,
    `message_id = ${pick([`'ses ' || gen_random_uuid()`, `id || '@smtp'`, 'message_id', 'null'])}`,
    ...moments.map((at) => `${at} = ${pick([at, at, later(), 'null'])}`),
  ];
  return parts.filter((_, index) => index < 2 || random() < 0.5).join(', ');
}

it('say what the rows say, however those change', async () => {
  const { cookie } = await api.signUp();
  const { id: projectId } = await api.createProject(cookie);
  const random = randomOf(7);
  await sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        select ${projectId}, n || '@tables.test', true from generate_series(1, 60) n returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class, source_type,
        campaign_id, status, due_at, created_at, sent_at)
      select ${projectId}, id, 'a@tables.test', 'Hi', 'team@shop.test', 'MARKETING',
          (array['CAMPAIGN', 'WORKFLOW', 'TRANSACTIONAL', 'INBOUND'])[1 + number % 4],
          case when number % 4 = 0 then gen_random_uuid() end,
          case when number % 4 = 3 then 'RECEIVED' when number % 5 = 0 then 'SENT' else 'PENDING' end,
          now() + (number % 3 - 1) * interval '1 hour', now() - number * interval '1 hour',
          case when number % 5 = 0 and number % 4 <> 3 then created_at end
        from (select id, (row_number() over ())::int as number, now() as created_at from made) made`.execute(
    db,
  );
  const faults = async () =>
    (await sql<{ what: string }>`${sql.raw(mailTableFaults)}`.execute(db)).rows;
  expect(await faults()).toEqual([]);
  for (let round = 0; round < 60; round++) {
    const isMeant = `source_type <> 'INBOUND' and hashtext(id::text || '${round}') % 3 = 0`;
    await sql`update email set ${sql.raw(changeOf(random))}
      where project_id = ${projectId} and ${sql.raw(isMeant)}`.execute(db);
    if (round % 10 === 9) {
      await sql`delete from contact where id in (
        select id from contact where project_id = ${projectId} limit 3)`.execute(db);
    }
    expect(await faults()).toEqual([]);
  }
  const { rows } = await sql<Record<string, number>>`
    select (select count(*)::int from email_moment where project_id = ${projectId}) as moments,
      (select count(*)::int from email_queue where project_id = ${projectId}) as queued,
      (select count(*)::int from late_mail) as late,
      (select count(*)::int from provider_message) as given`.execute(db);
  for (const count of Object.values(rows[0]!)) expect(count).toBeGreaterThan(0);
  await sql`delete from email where project_id = ${projectId}`.execute(db);
  expect(await faults()).toEqual([]);
});

it('are not in the way of a change in place: no index has what changes when a message is sent', async () => {
  const changed = [
    'status',
    'message_id',
    'attempts',
    'sent_at',
    'delivered_at',
    'subject',
    'trace',
  ];
  const { rows } = await sql<{ name: string; columns: string[] }>`
    select class.relname as name, array_agg(attribute.attname::text) as columns
      from pg_index join pg_class class on class.oid = indexrelid
      join pg_depend on pg_depend.objid = indexrelid and refobjid = indrelid and refobjsubid > 0
      join pg_attribute attribute on attrelid = indrelid and attnum = refobjsubid
      where indrelid = 'email'::regclass group by 1`.execute(db);
  expect(rows.length).toBeGreaterThan(5);
  const named = rows.filter(({ columns }) => columns.some((column) => changed.includes(column)));
  expect(named).toEqual([]);
});
