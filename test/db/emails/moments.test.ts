import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { countMoments, momentKinds, type Moment } from '../../../db/sql/mail-moments.ts';
import { tallyMoments } from '../../../db/emails/moments.ts';
import { useApi } from '../../support/api.ts';
import { deleteMail } from '../../../db/emails/removal.ts';
import { dropContacts, mailTableFaults, writeMail } from '../../support/mail-tables.ts';
import { randomOf } from '../../support/random.ts';
import { rowsRead } from '../../support/rows-read.ts';
import { recordStatements } from '../../support/statements.ts';

/** Times of mail, counted by day after the day is over. */

const api = await useApi();
const { db } = api;
let projectId: string;

beforeAll(async () => {
  const { cookie } = await api.signUp();
  ({ id: projectId } = await api.createProject(cookie));
});

const random = randomOf(11);
/** Returns SQL of a time in the last twelve days, often at the end of a day, to the millisecond. */
function anyTime(): string {
  const ago = `date_trunc('day', now(), 'UTC') - ${Math.floor(random() * 12)} * interval '24 hours'`;
  const within = [0, 1, -1, Math.floor(random() * 86_400_000)][Math.floor(random() * 4)];
  return `(${ago} + ${within} * interval '1 millisecond')`;
}

const insert = (many: number) =>
  writeMail(db, (tx) =>
    sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        select ${projectId}, gen_random_uuid() || '@moments.test', true
          from generate_series(1, ${many}::int) returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class, source_type,
        status, created_at, sent_at, opened_at, bounced_at)
      select ${projectId}, id, 'a@moments.test', 'Hi', 'team@shop.test', 'MARKETING', 'TRANSACTIONAL', 'SENT',
          ${sql.raw(anyTime())}, ${sql.raw(anyTime())}, ${sql.raw(anyTime())}, ${sql.raw(anyTime())}
        from made`.execute(tx),
  );

/** A different third of the mail each time. */
const some = (part: number) =>
  sql.raw(`hashtext(id::text || '${part}') % 3 = 0 and project_id = '${projectId}'`);

const set = (columns: string, round: number) =>
  writeMail(db, (tx) => sql`update email set ${sql.raw(columns)} where ${some(round)}`.execute(tx));

const changes: readonly ((round: number) => Promise<unknown>)[] = [
  () => insert(5),
  (round) => set(`opened_at = ${anyTime()}`, round),
  (round) => set('bounce_listed = not bounce_listed', round),
  (round) => set('bounced_at = null', round),
  (round) => set(`status = 'FAILED', error = 'no'`, round),
  (round) => set(`status = 'SENT', error = null`, round),
  (round) =>
    dropContacts(
      db,
      sql<boolean>`contact.id in (select id from contact where ${some(round)} limit 2)`,
    ),
];

async function counted(moment: Moment, from: string, to: string | null) {
  const period = {
    from: sql<Date>`${sql.raw(from)}`,
    ...(to && { to: sql<Date>`${sql.raw(to)}` }),
  };
  const { rows } = await sql<{ fast: number; plain: number }>`
    select ${countMoments(projectId, moment, period)} as fast,
        (select count(*)::float8 from email_moment where project_id = ${projectId}
          and kind = ${momentKinds[moment]} and at >= ${period.from}
          and at <= ${period.to ?? sql`timestamptz 'infinity'`}) as plain`.execute(db);
  return rows[0]!;
}

/** Counts all days that are over. */
async function tallyAll(): Promise<void> {
  while (await tallyMoments(db));
}

async function expectExact(): Promise<void> {
  const faults = await sql`${sql.raw(mailTableFaults)}`.execute(db);
  expect(faults.rows).toEqual([]);
  for (const moment of ['sent', 'opened', 'bounced', 'listedBounce'] as const) {
    for (const to of [null, anyTime(), anyTime()]) {
      for (const from of [`timestamptz '-infinity'`, anyTime()]) {
        const { fast, plain } = await counted(moment, from, to);
        expect([moment, from, to, fast]).toEqual([moment, from, to, plain]);
      }
    }
  }
}

it('are counted exactly in any period, while mail of any day changes and days are counted', async () => {
  await insert(60);
  await expectExact();
  for (let round = 0; round < 40; round++) {
    const change = changes[Math.floor(random() * changes.length)]!;
    // The first days are counted one by one, while rows change.
    await Promise.all([change(round), tallyMoments(db), tallyMoments(db)]);
    await expectExact();
  }
  await tallyAll();
  await expectExact();
});

it('of a long time are counted without reading each, and all that is over is counted', async () => {
  await insert(2_000);
  await tallyAll();
  const long = { from: `now() - interval '30 days'`, to: `now() - interval '5 days'` };
  const { fast, plain } = await counted('sent', long.from, long.to);
  expect(fast).toBe(plain);
  const period = {
    from: sql<Date>`${sql.raw(long.from)}`,
    to: sql<Date>`date_trunc('day', now(), 'UTC') - interval '120 hours'`,
  };
  const read = await rowsRead(db, () =>
    sql`select ${countMoments(projectId, 'opened', period)}`.execute(db),
  );
  expect(read).toBeLessThan(100);
});

it('rest when all days are counted: nothing is written, and one row is read', async () => {
  await tallyAll();
  const { rows: before } =
    await sql`select xmin, at from watermark where name = 'email_tally'`.execute(db);
  const asked = recordStatements();
  expect(await tallyMoments(db)).toBe(false);
  expect(asked.take().length).toBeLessThanOrEqual(4);
  const { rows } = await sql`select xmin, at from watermark where name = 'email_tally'`.execute(db);
  expect(rows).toEqual(before);
  const fresh = await sql`select from email_tally where fresh`.execute(db);
  expect(fresh.rows).toEqual([]);
});

it('of a day of which everything is deleted before it is counted are none', async () => {
  await sql`update watermark set at = '-infinity' where name = 'email_tally'`.execute(db);
  await dropContacts(db, sql<boolean>`contact.project_id = ${projectId}`);
  const inserted = sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        values (${projectId}, 'last@moments.test', true) returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class, source_type,
        status, sent_at)
      select ${projectId}, id, 'a@moments.test', 'Hi', 'team@shop.test', 'MARKETING', 'TRANSACTIONAL', 'SENT',
          now() - interval '20 days' from made`;
  await writeMail(db, (tx) => inserted.execute(tx));
  // As if it had been counted long ago.
  await sql`delete from email_tally where project_id = ${projectId}`.execute(db);
  await dropContacts(db, sql<boolean>`contact.project_id = ${projectId}`);
  await tallyAll();
  await expectExact();
  const { rows } = await sql`select from email_tally where project_id = ${projectId}`.execute(db);
  expect(rows).toEqual([]);
});

it('of a removed project are not kept', async () => {
  await insert(50);
  await tallyAll();
  await sql`update project set removal = 'delete' where id = ${projectId}`.execute(db);
  await deleteMail(db, { where: sql<boolean>`project_id = ${projectId}` });
  await tallyAll();
  const { rows } = await sql`select from email_tally where project_id = ${projectId}`.execute(db);
  expect(rows).toEqual([]);
});
