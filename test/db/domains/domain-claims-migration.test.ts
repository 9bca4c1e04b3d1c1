import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, it } from 'vitest';
import { databaseAt, execute } from '../../support/processes/servers.ts';

const folder = join(import.meta.dirname, '../../../db/migrations');
const files = readdirSync(folder).toSorted();
const claims = files.findIndex((file) => file.endsWith('-domain-claims.sql'));
const textOf = (file: string) => readFileSync(join(folder, file), 'utf8');

it('domains of the version before go on: a token each, what is verified stays so', async () => {
  const server = inject('databaseUrl');
  const database = `before_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `create database ${database} template template0`);
  const client = new pg.Client({ connectionString: databaseAt(server, database) });
  await client.connect();
  try {
    for (const file of files.slice(0, claims)) await client.query(textOf(file));
    const { rows: projects } = await client.query(
      `insert into project (name, public_key, secret_key_hash, secret_key_last4,
           webhook_signing_secret)
         values ('Shop', 'pk_test', sha256('sk_test'), 'test', '') returning id`,
    );
    await client.query(
      `insert into domain (project_id, name, status, dkim_tokens)
         select $1, status || '.dev', status, '{a,b,c}'
           from unnest('{pending,failed,verified}'::text[]) as status`,
      [projects[0].id],
    );
    await client.query(textOf(files[claims]!));
    const { rows } = await client.query(
      `select host_name, status, ownership_record_needed as needed, ownership_token as token
         from domain order by host_name`,
    );
    expect(rows.map(({ host_name, status, needed }) => [host_name, status, needed])).toEqual([
      ['failed.dev', 'failed', true],
      ['pending.dev', 'pending', true],
      ['verified.dev', 'verified', false],
    ]);
    expect(new Set(rows.map(({ token }) => token)).size).toBe(3);
    // Nobody knows who made their identities: none counts as ours.
    expect((await client.query('select name from ses_identity')).rows).toEqual([]);
  } finally {
    await client.end();
    await execute(server, `drop database ${database}`);
  }
});
