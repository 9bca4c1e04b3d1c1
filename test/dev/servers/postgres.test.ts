import { mkdir, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';

import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';

import { claimFreePort } from '../../../dev/servers/ports.ts';
import { startPostgres } from '../../../dev/servers/postgres.ts';
import { useFolder } from '../../support/use.ts';

const directory = await useFolder();

const log = () => undefined;

describe('startPostgres', () => {
  it('starts PostgreSQL 18 with the database everpost, on loopback only', async () => {
    const { port, release } = await claimFreePort();
    const dataDir = join(directory, 'data');
    const server = await startPostgres({ dataDir, port, log });
    try {
      expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      const { rows } = await client.query<{ version: string; db: string; addresses: string }>(
        `select current_setting('server_version_num') as version, current_database() as db,
                current_setting('listen_addresses') as addresses`,
      );
      await client.end();
      expect(rows).toEqual([
        { version: expect.stringMatching(/^18/), db: 'everpost', addresses: '127.0.0.1' },
      ]);
      const others = Object.values(networkInterfaces()).flatMap((one) => one ?? []);
      for (const { address } of others.filter((one) => !one.internal && one.family === 'IPv4')) {
        await expect(once(connect(port, address), 'connect')).rejects.toThrow('ECONNREFUSED');
      }
    } finally {
      await server.stop();
      await release();
    }
  });

  it('logs what fails without rows, values and statements', async () => {
    const { port, release } = await claimFreePort();
    const lines: string[] = [];
    const dataDir = join(directory, 'quiet');
    const server = await startPostgres({ dataDir, port, log: (line) => void lines.push(line) });
    try {
      const client = new pg.Client({ connectionString: server.url });
      await client.connect();
      await client.query('create table person (email text primary key, age int check (age > 0))');
      const fail = (text: string, values?: unknown[]) =>
        client.query(text, values).catch((error: Error) => error.message);
      const insert = 'insert into person values ($1, $2)';
      await fail(insert, ['ada@people.test', 1]);
      await fail(insert, ['ada@people.test', 1]);
      await fail(insert, ['bob@people.test', -1]);
      await fail("insert into person values ('ada@people.test', 1)");
      await fail("select 'ada@people.test' from nowhere");
      await client.end();
      await vi.waitFor(() => expect(lines.join('\n')).toContain('"nowhere" does not exist'));
      const log = lines.join('\n');
      expect(log).toContain('violates unique constraint "person_pkey"');
      expect(log).not.toMatch(/people\.test|STATEMENT|DETAIL|insert into/);
    } finally {
      await server.stop();
      await release();
    }
  });

  it('refuses the data of another major version, saying what to do', async () => {
    const dataDir = join(directory, 'old');
    await mkdir(join(dataDir, 'cluster'), { recursive: true });
    await writeFile(join(dataDir, 'cluster/PG_VERSION'), '16\n');
    await expect(startPostgres({ dataDir, port: 1, log })).rejects.toThrow(
      /was made by PostgreSQL 16, but this is PostgreSQL 18\. .*pg_dump/,
    );
  });

  it('fails with the last lines of the server when it cannot start', async () => {
    const { port, release } = await claimFreePort();
    const options = { dataDir: join(directory, 'taken'), port, log };
    const first = await startPostgres({ ...options, dataDir: join(directory, 'first') });
    await expect(startPostgres(options)).rejects.toThrow(
      /^PostgreSQL ended before it was ready \(exit code 1\)\..*Address already in use/s,
    );
    await first.stop();
    await release();
  });
});
