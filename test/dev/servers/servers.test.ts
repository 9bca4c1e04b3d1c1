import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';

import { createTestDatabase, databaseAt, temporalAddress } from '../../support/servers.ts';

async function rows(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const tables = `select table_name from information_schema.tables where table_schema = 'public'`;

describe('createTestDatabase', () => {
  it('gives every caller an own migrated database, also ten at once', async () => {
    const databases = await Promise.all(Array.from({ length: 10 }, createTestDatabase));
    expect(new Set(databases.map((one) => one.url)).size).toBe(10);
    for (const { url } of databases) expect((await rows(url, tables)).length).toBeGreaterThan(0);
    await Promise.all(databases.map((one) => one.drop()));
  });

  it('drops a database that still has connections', async () => {
    const { url, drop } = await createTestDatabase();
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    await drop();
    await expect(rows(url, 'select 1')).rejects.toThrow('does not exist');
    await client.end().catch(() => undefined);
  });

  it('sorts and folds case by Unicode, whatever locales the machine has', async () => {
    const { url, drop } = await createTestDatabase();
    expect(await rows(url, `select lower('ÉÜ') as l`)).toEqual([{ l: 'éü' }]);
    await drop();
  });
});

describe('the servers of a test run', () => {
  it('are at loopback addresses', () => {
    expect(databaseAt(inject('databaseUrl'), 'x')).toMatch(/@127\.0\.0\.1:\d+\/x(\?host=%2F|$)/);
    expect(temporalAddress()).toMatch(/^127\.0\.0\.1:\d+$/);
  });
});
