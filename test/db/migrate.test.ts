import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { inject, it, expect } from 'vitest';
import { migrateToLatest, schemaState } from '../../db/migrate.ts';
import { databaseAt, execute } from '../support/servers.ts';
import { atEnd, useFolder } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/** Creates an empty database, and a folder with these migrations. */
async function useMigrations(files: Record<string, string>) {
  const server = inject('databaseUrl');
  const name = `migrate_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${name} template template0`);
  atEnd(() => execute(server, `drop database ${name} with (force)`));
  const url = databaseAt(server, name);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  atEnd(() => client.end());
  const dir = await useFolder();
  const add = async (more: Record<string, string>) => {
    for (const [file, text] of Object.entries(more)) await writeFile(join(dir, file), text);
  };
  await add(files);
  return {
    url,
    dir,
    client,
    add,
    migrate: (onWait = (_sentence: string) => {}) => migrateToLatest(url, { dir, onWait }),
    async applied() {
      const { rows } = await client.query('select name from kysely_migration order by name');
      return rows.map((row) => row.name);
    },
  };
}

const first = { '0001-first.sql': 'create table note (id int, body text);' };

it('applies each migration in a transaction of its own, and names the one that fails', async () => {
  const { migrate, applied, client, add } = await useMigrations({
    ...first,
    '0002-broken.sql': 'alter table note add column colour text; select 1 / 0;',
    '0003-later.sql': 'create table later (id int);',
  });
  await expect(migrate()).rejects.toThrow('Migration 0002-broken failed: division by zero');
  expect(await applied()).toEqual(['0001-first']);
  await add({ '0002-broken.sql': 'alter table note add column colour text;' });
  expect(await migrate()).toEqual([]);
  expect(await applied()).toEqual(['0001-first', '0002-broken', '0003-later']);
  await client.query('select colour from note, later');
});

it('accepts what a newer version has applied, and refuses a gap before it', async () => {
  const { migrate, url, dir, client, add } = await useMigrations(first);
  await migrate();
  await client.query(`insert into kysely_migration values ('0003-newer', '')`);
  expect(await migrate()).toEqual(['0003-newer']);
  expect(await schemaState(url, dir)).toEqual({ pending: [], newer: ['0003-newer'] });
  await add({ '0002-second.sql': 'select 1;' });
  await expect(migrate()).rejects.toThrow(
    'The database has the migration 0003-newer of a newer version, but lacks 0002-second, which comes before it',
  );
  await add({ '0004-fourth.sql': 'select 1;' });
  await expect(migrate()).rejects.toThrow(
    'The database has the migration 0003-newer where this version has 0002-second',
  );
});

it('says what a database lacks without changing it', async () => {
  const { url, dir, client } = await useMigrations(first);
  expect(await schemaState(url, dir)).toEqual({ pending: ['0001-first'], newer: [] });
  const { rows } = await client.query(
    `select tablename from pg_tables where schemaname = 'public'`,
  );
  expect(rows).toEqual([]);
});

it('lets others pass while a long transaction holds a table that it changes', async () => {
  const { migrate, url, client, add } = await useMigrations(first);
  await migrate();
  await add({ '0002-column.sql': 'alter table note add column colour text;' });
  await client.query('begin; select * from note;');
  const sentences: string[] = [];
  const migrating = migrate((sentence) => sentences.push(sentence));
  await waitFor('the migration to wait', () => sentences.length > 0);
  expect(sentences).toEqual(['Migration 0002-column waits: a transaction holds its tables.']);
  // Each would wait for a migration that waits for a lock without limit.
  for (let request = 0; request < 5; request += 1) await execute(url, 'select * from note');
  await client.query('commit');
  expect(await migrating).toEqual([]);
  await client.query('select colour from note');
});

const index = `-- no transaction
drop index concurrently if exists note_id;
create unique index concurrently note_id on note (id);
`;

it('repeats a migration without a transaction that died in the middle', async () => {
  const { migrate, applied, client, add } = await useMigrations(first);
  await migrate();
  await add({ '0002-index.sql': index });
  await client.query(`insert into note values (1, 'a'), (1, 'b')`);
  await expect(migrate()).rejects.toThrow('Migration 0002-index failed: could not create unique');
  const validity = async () => {
    const { rows } = await client.query(
      `select indisvalid as valid from pg_index where indexrelid = to_regclass('note_id')`,
    );
    return rows.map(({ valid }) => valid);
  };
  expect(await validity()).toEqual([false]);
  await client.query('delete from note');
  await migrate();
  expect(await validity()).toEqual([true]);
  expect(await applied()).toEqual(['0001-first', '0002-index']);
});

it('takes turns when several start at once, also around an index built concurrently', async () => {
  const { migrate, applied } = await useMigrations({
    ...first,
    '0002-index.sql': index,
    '0003-slow.sql': 'select pg_sleep(0.3); create table slow (id int);',
  });
  expect(await Promise.all([migrate(), migrate(), migrate()])).toEqual([[], [], []]);
  expect(await applied()).toEqual(['0001-first', '0002-index', '0003-slow']);
});
