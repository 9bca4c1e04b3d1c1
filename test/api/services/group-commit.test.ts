import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { GroupCommit } from '../../../api/services/group-commit.ts';
import { useDatabase } from '../../support/servers.ts';

const { db, shares } = await useDatabase();
await sql`create table note (text text primary key)`.execute(db);

/** A queue whose transaction of several notes fails, before or after its commit. */
function queueThatFails(statement: string) {
  return new GroupCommit<string, string>(shares, {
    async writeTogether(tx, _, notes) {
      await sql.raw(statement).execute(tx);
      return notes;
    },
    async writeAlone(tx, _, note) {
      await sql`insert into note values (${note})`.execute(tx);
      return note;
    },
  });
}

const raise = (code: string) => `do $$ begin raise sqlstate '${code}'; end $$`;

it.each(['40P01', '40001', '55P03', '57014', '23505'])(
  'writes each item alone when the transaction of all ends with %s',
  async (code) => {
    const queue = queueThatFails(raise(code));
    const notes = ['a', 'b', 'c'].map((name) => `${name} ${code}`);
    expect(await Promise.all(notes.map((note) => queue.write('shop', note)))).toEqual(notes);
  },
);

it('writes no item again when the connection was lost, because it may be committed', async () => {
  const queue = queueThatFails('select pg_terminate_backend(pg_backend_pid())');
  const written = await Promise.allSettled(['x', 'y'].map((note) => queue.write('shop', note)));
  expect(written.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const { rows } = await sql`select from note where text in ('x', 'y')`.execute(db);
  expect(rows).toEqual([]);
});
