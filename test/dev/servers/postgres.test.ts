import { mkdir, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';

import pg from 'pg';
import { describe, expect, it } from 'vitest';

import { claimFreePort } from '../../../dev/servers/ports.ts';
import { startPostgres } from '../../../dev/servers/postgres.ts';
import { useFolder } from '../../support/use.ts';

const directory = await useFolder();

const log = () => undefined;

describe('startPostgres', { timeout: 60_000 }, () => {
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

  it('refuses the data of another major version, saying what to do', async () => {
    const dataDir = join(directory, 'old');
    await mkdir(join(dataDir, 'cluster'), { recursive: true });
    await writeFile(join(dataDir, 'cluster/PG_VERSION'), '16\n');
    await expect(startPostgres({ dataDir, port: 1, log })).rejects.toThrow(
      /was made by PostgreSQL 16, this is PostgreSQL 18: .*pg_dump/,
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
