import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { type Database, openDatabase, transact } from '../../db/database.ts';
import { useDatabase } from '../support/servers.ts';
import { use } from '../support/use.ts';

const { db, url } = await useDatabase();
await sql`create table account (name text primary key, balance int not null)`.execute(db);
await sql`insert into account values ('a', 0), ('b', 0)`.execute(db);

const add = (tx: Database, name: string) =>
  sql`update account set balance = balance + 1 where name = ${name}`.execute(tx);

/** Runs two transactions that lock `a` and `b` in opposite orders. */
async function crossOver(run: (work: (tx: Database) => Promise<void>) => Promise<void>) {
  let locked = 0;
  let bothLocked = () => {};
  const met = new Promise<void>((resolve) => (bothLocked = resolve));
  const work = (first: string, second: string) => async (tx: Database) => {
    await add(tx, first);
    locked += 1;
    if (locked === 2) bothLocked();
    await met;
    await add(tx, second);
  };
  return Promise.allSettled([run(work('a', 'b')), run(work('b', 'a'))]);
}

const balances = async () => {
  const { rows } = await sql<{ balance: number }>`
    select balance from account order by name`.execute(db);
  return rows.map(({ balance }) => balance);
};

it('two transactions in a deadlock both end well: one of them is begun again', async () => {
  const plain = await crossOver((work) => db.transaction().execute(work));
  expect(plain.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await balances()).toEqual([1, 1]);
  const again = await crossOver((work) => transact(db, work));
  expect(again.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  expect(await balances()).toEqual([3, 3]);
});

it('a serialization failure is tried five times, any other error once', async () => {
  const failing = async (code: string) => {
    let calls = 0;
    const failed = transact(db, async (tx) => {
      calls += 1;
      await sql`do ${sql.raw(`$$ begin raise sqlstate '${code}'; end $$`)}`.execute(tx);
    });
    await expect(failed).rejects.toMatchObject({ code });
    return calls;
  };
  expect(await failing('40001')).toBe(5);
  expect(await failing('23505')).toBe(1);
});

it('statements go on when a migration changes the type of what they answer', async () => {
  const opened = use(openDatabase(url, { poolMax: 1 }));
  const connection = async () => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(opened.db);
    return rows[0]!.pid;
  };
  const read = (on: Database) =>
    sql`select name, balance from account where name = 'a'`.execute(on);
  // Often enough to be prepared.
  for (let time = 0; time < 5; time += 1) await read(opened.db);
  const before = await connection();
  await sql`alter table account alter column balance type bigint`.execute(db);
  expect((await read(opened.db)).rows).toHaveLength(1);
  expect(await connection()).not.toBe(before);

  for (let time = 0; time < 5; time += 1) await read(opened.db);
  await sql`alter table account alter column balance type int`.execute(db);
  const { rows } = await transact(opened.db, read);
  expect(rows).toHaveLength(1);
});

it('a transaction begins with its first statement, and none is left open', async () => {
  const opened = use(openDatabase(url, { poolMax: 1 }));
  const balance = async (on: Database) => {
    const { rows } = await sql<{ balance: number }>`
      select balance from account where name = 'b'`.execute(on);
    return rows[0]!.balance;
  };
  const before = await balance(db);
  const undone = transact(opened.db, async (tx) => {
    await add(tx, 'b');
    expect(await balance(tx)).toBe(before + 1);
    throw new Error('changed my mind');
  });
  await expect(undone).rejects.toThrow('changed my mind');
  expect(await balance(db)).toBe(before);

  // Each leaves the connection clean, so the next statement is committed at once.
  await transact(opened.db, async () => {});
  await add(opened.db, 'b');
  expect(await balance(db)).toBe(before + 1);
  const wrong = transact(opened.db, (tx) => sql`select 1 / 0`.execute(tx));
  await expect(wrong).rejects.toThrow('division by zero');
  await add(opened.db, 'b');
  expect(await balance(db)).toBe(before + 2);
});
