import { readFile } from 'node:fs/promises';
import type pg from 'pg';
import { figure } from '../measuring/numbers.ts';
import { idOf, type Lab, monthAt, monthDays } from './lab.ts';

/** Messages of a campaign that is frozen, and how many of them in one statement. */
const frozen = 100_000;
const frozenAtOnce = 5_000;

/** Writes: CPU of the server's process and WAL of each row. */
export async function timeWrites(
  { client, months }: Lab,
  tables: readonly string[],
): Promise<Record<string, string>> {
  const cost = (count: number, work: () => Promise<void>) => costOf(client, count, work);
  const first = await idOf(client, months - 1);
  const at = `${monthAt(months - 1)} + interval '${monthDays - 1} days'`;
  const froze = await cost(frozen, () =>
    freeze(client, { at, name: 'new', id: `uuidv7(${at} - clock_timestamp())` }),
  );
  const ids = await idsOf(
    client,
    `campaign_id = md5('new')::uuid and id > ${first} order by id limit 20000`,
  );
  const half = ids.length / 2;
  const settled = await cost(half, () => settle(client, ids.slice(0, half), false));
  const settledWithin = await cost(half, () => settle(client, ids.slice(half), true));
  const unopened = await idsOf(client, `id > ${first} and opened_at is null limit 2000`);
  const opened = await cost(unopened.length, async () => {
    for (const id of unopened) {
      await client.query(
        `update mail set status = 'OPENED', opened_at = now(), opens = opens + 1 where id = $1`,
        [id],
      );
    }
  });
  const { rows: leaving } = await client.query<{ id: string }>(
    'select id from receiver order by id limit 200',
  );
  const left = await cost(leaving.length, async () => {
    for (const { id } of leaving) await client.query('delete from receiver where id = $1', [id]);
  });
  await client.query(`drop index ${tables.at(-1)}_campaign_id_contact_id_idx`);
  const frozeById = await cost(frozen, () =>
    freeze(client, { at, name: 'next', id: idOfBoth(at) }),
  );
  const began = performance.now();
  const dropped = await cost(1, () => dropOldest(client, tables));
  return {
    'freeze, each: CPU ms, WAL B': froze,
    '… with ids that are unique for campaign and contact': frozeById,
    'settle 50 at a time, each': settled,
    '… with the bounds of their ids': settledWithin,
    'open of this month, each': opened,
    'delete a contact with its mail, each': left,
    'drop the oldest month: s, CPU ms, WAL B': `${figure((performance.now() - began) / 1000)}, ${dropped}`,
  };
}

/** SQL of a UUIDv7 whose random bits are a hash of the campaign and the contact. */
const idOfBoth = (at: string) => `(
  lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(hash, 1, 3)
    || '8' || substr(hash, 4, 15))::uuid`;

async function freeze(
  client: pg.Client,
  { at, name, id }: { at: string; name: string; id: string },
): Promise<void> {
  for (let from = 0; from < frozen; from += frozenAtOnce) {
    await client.query(`
      insert into mail (id, project_id, contact_id, to_email, subject, from_email, message_class,
          source_type, campaign_id, due_at, created_at)
        select ${id}, md5('p0')::uuid, receiver.id, 'contact' || receiver.n || '@bench.example', 'News',
            'team@bench.example', 'MARKETING', 'CAMPAIGN', md5('${name}')::uuid,
            timestamptz '2100-01-01 00:00:00Z', ${at}
          from receiver cross join md5('${name}' || receiver.id) as hash
          where n >= ${from} and n < ${from + frozenAtOnce}
        on conflict do nothing`);
  }
}

async function idsOf(client: pg.Client, where: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(`select id from mail where ${where}`);
  return rows.map(({ id }) => id);
}

/** Records outcomes, 50 at a time. @param isBounded names the lowest and the highest of the ids */
async function settle(
  client: pg.Client,
  ids: readonly string[],
  isBounded: boolean,
): Promise<void> {
  for (let n = 0; n < ids.length; n += 50) {
    const some = ids.slice(n, n + 50);
    const within = isBounded ? `and mail.id between '${some[0]}' and '${some.at(-1)}'` : '';
    await client.query(
      `update mail set status = 'SENT', attempts = 1, attempt_id = gen_random_uuid(), sent_at = now(),
          handed_over_at = now(), message_id = gen_random_uuid()::text, updated_at = now()
        from unnest($1::uuid[]) as outcome(id) where mail.id = outcome.id ${within}`,
      [some],
    );
  }
}

async function dropOldest(client: pg.Client, tables: readonly string[]): Promise<void> {
  if (tables.length > 1) {
    await client.query(`alter table mail detach partition ${tables[0]} concurrently`);
    await client.query(`drop table ${tables[0]}`);
  } else {
    await client.query(`delete from mail where id < ${await idOf(client, 1)}`);
    await client.query('vacuum mail');
  }
}

/** CPU milliseconds and bytes of WAL for each of `count`, from a checkpoint on. */
async function costOf(
  client: pg.Client,
  count: number,
  work: () => Promise<void>,
): Promise<string> {
  await client.query('checkpoint');
  const before = await readCost(client);
  await work();
  const after = await readCost(client);
  return `${figure((after.cpuMs - before.cpuMs) / count)}, ${figure((after.wal - before.wal) / count)}`;
}

async function readCost(client: pg.Client): Promise<{ cpuMs: number; wal: number }> {
  const { rows } = await client.query<{ pid: number; wal: number }>(
    `select pg_backend_pid() as pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal`,
  );
  const [row] = rows;
  if (!row) throw new Error('The server said nothing.');
  const stat = await readFile(`/proc/${row.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, wal: row.wal };
}
