import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { startPostgres } from '../../dev/servers/postgres.ts';
import { migrateToLatest } from '../../db/migrate.ts';
import type { Benchmark, BenchmarkRun } from '../measuring/benchmark.ts';
import { figure, printTable } from '../measuring/numbers.ts';
import { idOf, type Lab, monthAt, monthDays } from './lab.ts';
import { timeReads } from './reads.ts';
import { timeWrites } from './writes.ts';

/** `email` of many months as one table, and as a partition a month by the time in its ids. */
export const partitions: Benchmark = {
  summary: 'email as one table against a partition a month: size, writes, reads, dropping a month',
  options: {
    rows: '2000000',
    months: '14',
    contacts: '1000000',
    /** Comma list: `whole`, `parts`, and `move` of the whole table into the first partition. */
    layouts: 'whole,move,parts',
  },
  async run(run) {
    const server = await startServer(run);
    const client = new pg.Client(server.url);
    await client.connect();
    client.on('error', () => undefined);
    run.defer(() => client.end());
    const lab = { client, ...sizesOf(run) };
    const columns: Record<string, string>[] = [];
    for (const layout of run.text('layouts').split(',')) {
      if (layout === 'move') columns.push(await move(lab));
      else if (layout === 'whole' || layout === 'parts') columns.push(await play(lab, layout));
      else throw new Error(`--layouts has no "${layout}".`);
      console.log(JSON.stringify(columns.at(-1)));
    }
    const names = [...new Set(columns.flatMap((column) => Object.keys(column)))];
    printTable([
      ['', ...run.text('layouts').split(',')],
      ...names.map((name) => [name, ...columns.map((column) => column[name] ?? '')]),
    ]);
  },
};

function sizesOf(run: BenchmarkRun) {
  const months = run.count('months');
  return {
    months,
    contacts: run.count('contacts'),
    monthly: Math.ceil(run.count('rows') / months),
  };
}

/** A server whose WAL is as in production, without the waits for the disk. */
async function startServer(run: BenchmarkRun) {
  const directory = await mkdtemp(join(tmpdir(), 'everpost-bench-'));
  run.defer(() => rm(directory, { recursive: true, force: true }));
  const { port, release } = await claimFreePort();
  run.defer(release);
  const options = {
    dataDir: join(directory, 'postgres'),
    port,
    log: () => undefined,
    signal: run.signal,
  };
  const first = await startPostgres(options);
  const client = new pg.Client(first.url);
  await client.connect();
  for (const setting of [
    `fsync = off`,
    `synchronous_commit = off`,
    `max_wal_size = '8GB'`,
    `checkpoint_timeout = '1h'`,
    `shared_buffers = '1GB'`,
    `autovacuum = off`,
    // Filling a table that the same transaction has made writes no WAL.
    `wal_level = minimal`,
    `max_wal_senders = 0`,
  ]) {
    await client.query(`alter system set ${setting}`);
  }
  await client.end();
  await first.stop();
  const server = await startPostgres(options);
  run.defer(() => server.stop());
  await migrateToLatest(server.url, { onWait: () => undefined });
  return server;
}

async function createContacts({ client, contacts }: Lab): Promise<void> {
  await client.query(`
    set maintenance_work_mem = '1GB';
    set work_mem = '256MB';
    set max_parallel_workers_per_gather = 0;
    set jit = off;
    drop table if exists mail;
    drop table if exists receiver;
    create table receiver (id uuid primary key, n integer not null);
    insert into receiver select ${contactId('(n - 1)')}, n - 1 from generate_series(1, ${contacts}) n;
    create unique index on receiver (n)`);
  await client.query('vacuum analyze receiver');
}

/** Indexes that a message of a campaign enters. The unique ones of a partition are its own. */
const indexes = [
  'unique (campaign_id, contact_id)',
  '(project_id, created_at desc, id desc)',
  '(contact_id, created_at desc, id desc)',
  'unique (message_id)',
  '(project_id, sent_at desc, id desc) where sent_at is not null',
] as const;

const campaignSize = 50_000;

/** Columns of a message of a campaign after its outcome. */
const filled = [
  'id',
  'project_id',
  'contact_id',
  'to_email',
  'subject',
  'from_email',
  'message_class',
  'source_type',
  'campaign_id',
  'message_id',
  'status',
  'due_at',
  'attempts',
  'attempt_id',
  'content_version',
  'sent_at',
  'delivered_at',
  'opened_at',
  'handed_over_at',
  'created_at',
  'updated_at',
  'derived_events',
].join(', ');

/** SQL of the messages of a month: half of them of the first of ten projects, 40 % opened, 1 % failed. */
function mailOf({ contacts, monthly }: Lab, month: number): string {
  const start = month * monthly;
  return `
    select uuidv7(at - clock_timestamp()),
        case when c % 2 = 0 then md5('p0')::uuid else md5('p' || c % 10)::uuid end,
        ${contactId(`((i * 7919::bigint) % ${contacts})`)}, 'contact' || i || '@bench.example', 'News of the month',
        'team@bench.example', 'MARKETING', 'CAMPAIGN', md5('c' || c)::uuid, gen_random_uuid()::text,
        case when i % 100 = 0 then 'FAILED' when i % 5 < 2 then 'OPENED' else 'DELIVERED' end,
        timestamptz '2100-01-01 00:00:00Z', 1, md5('attempt')::uuid, 1, at + interval '1 s',
        at + interval '2 s', case when i % 5 < 2 then at + interval '1 h' end, at, at, at, 3
      from (select i, i / ${campaignSize} as c,
          ${monthAt(month)} + interval '1 hour' + (i - ${start}) * interval '${monthDays - 2} days' / ${monthly} as at
        from generate_series(${start}, ${start + monthly - 1}) i) as numbered`;
}

/** SQL of the id of a contact by its number. */
const contactId = (number: string) => `md5('contact' || ${number})::uuid`;

async function play(lab: Lab, layout: 'whole' | 'parts'): Promise<Record<string, string>> {
  const { client, months } = lab;
  const began = performance.now();
  await createContacts(lab);
  const tables = layout === 'whole' ? ['mail'] : [];
  const createLike = (name: string) =>
    `create table ${name} (like email including defaults including generated)`;
  if (layout === 'parts') {
    await client.query(`${createLike('mail')} partition by range (id)`);
  }
  for (let month = 0; month < months; month++) {
    if (layout === 'parts') tables.push(`mail_${month}`);
    const table = layout === 'parts' ? `mail_${month}` : 'mail';
    if (layout === 'whole' && month > 0) continue;
    const filling =
      layout === 'whole' ? Array.from({ length: months }, (_, each) => each) : [month];
    await client.query('begin');
    await client.query(createLike(table));
    for (const each of filling) {
      await client.query(`insert into ${table} (${filled}) ${mailOf(lab, each)}`);
      console.log(layout, 'filled', each, figure((performance.now() - began) / 1000), 's');
    }
    await client.query(`alter table ${table} add primary key (id)`);
    for (const index of indexes) await client.query(indexOn(table, index));
    await client.query('commit');
    if (layout === 'parts') {
      await client.query(`alter table mail attach partition ${table}
        for values from (${await idOf(client, month)}) to (${await idOf(client, month + 1)})`);
    }
  }
  if (layout === 'parts') {
    await client.query('alter table mail add primary key (id)');
    for (const index of indexes) {
      if (!index.startsWith('unique')) await client.query(indexOn('mail', index));
    }
  }
  await client.query(
    'alter table mail add foreign key (contact_id) references receiver on delete cascade',
  );
  await client.query('vacuum (freeze, analyze) mail');
  console.log(layout, 'built', figure((performance.now() - began) / 1000), 's');
  return {
    ...(await sizes(lab, tables)),
    ...(await timeReads(lab)),
    ...(await timeWrites(lab, tables)),
  };
}

function indexOn(table: string, index: string): string {
  const isUnique = index.startsWith('unique');
  return `create ${isUnique ? 'unique ' : ''}index on ${table} ${index.replace(/^unique /, '')}`;
}

async function sizes({ client, months, monthly }: Lab, tables: readonly string[]) {
  const { rows } = await client.query<{ heap: number; index: number }>(
    `select sum(pg_relation_size(name::regclass))::float8 as heap,
        sum(pg_indexes_size(name::regclass))::float8 as index from unnest($1::text[]) as name`,
    [tables],
  );
  const count = months * monthly;
  return {
    'bytes of a row': figure((rows[0]?.heap ?? 0) / count),
    '… of its index entries': figure((rows[0]?.index ?? 0) / count),
  };
}

/** The whole table becomes the first partition: how long its readers and writers wait. */
async function move({ client, months }: Lab): Promise<Record<string, string>> {
  const end = await idOf(client, months);
  const timeOf = async (sql: string) => {
    const began = performance.now();
    await client.query(sql);
    return figure((performance.now() - began) / 1000);
  };
  await client.query(
    `alter table mail add constraint mail_past check (id < ${end} and id is not null) not valid`,
  );
  const validated = await timeOf('alter table mail validate constraint mail_past');
  const locked = await timeOf(`
    begin;
    alter table mail rename to mail_past;
    create table mail (like mail_past including defaults including generated) partition by range (id);
    alter table mail add primary key (id);
    alter table mail attach partition mail_past for values from (minvalue) to (${end});
    create table mail_next partition of mail for values from (${end}) to (${await idOf(client, months + 1)});
    commit`);
  return { 'validate the bound, s': validated, 'rename and attach, locked, s': locked };
}
