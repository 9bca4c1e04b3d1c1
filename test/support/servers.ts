import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import pg from 'pg';
import { inject } from 'vitest';
import { openDatabase } from '../../db/database.ts';
import { mailTableFaults } from './mail-tables.ts';
import { atEnd, use } from './use.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * URL of a database on the PostgreSQL server of this run, with a user who may create databases.
     */
    databaseUrl: string;
    /** host:port of the Temporal server of this run. */
    temporalAddress: string;
    /** Path of the bundled workflow code. */
    workflowBundle: string;
  }
}

/** A migrated, empty database. Every test database is a copy of it. */
export const template = 'everpost_template';

/** PostgreSQL's code for "source database is being accessed by other users". */
const objectInUse = '55006';
const copyWithinMs = 30_000;

/** Creates an empty, migrated database for one test file. */
export async function createTestDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const adminUrl = inject('databaseUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const deadline = Date.now() + copyWithinMs;
  for (;;) {
    try {
      // `file_copy` needs much less CPU time than the default strategy.
      await execute(adminUrl, `create database ${name} template ${template} strategy file_copy`);
      break;
    } catch (error) {
      // Another process is copying the template, which only one may do at a time.
      const busy = error instanceof pg.DatabaseError && error.code === objectInUse;
      if (!busy || Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
  return {
    url: databaseAt(adminUrl, name),
    async drop() {
      const faults = await findMailTableFaults(databaseAt(adminUrl, name));
      await execute(adminUrl, `drop database if exists ${name} with (force)`);
      if (faults.length > 0) throw new Error(`By the rows of email, ${faults.join('; ')}`);
    },
  };
}

/**
 * Creates an empty, migrated database with a pool of connections, until the end of the test or
 * file.
 */
export async function useDatabase(options?: Parameters<typeof openDatabase>[1]) {
  const { url, drop } = await createTestDatabase();
  atEnd(drop);
  return { url, ...use(openDatabase(url, options)) };
}

/** Returns faults in the lookup tables of mail, which must match the rows of `email`. */
async function findMailTableFaults(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(mailTableFaults);
    return rows.map(({ what }) => String(what));
  } finally {
    await client.end();
  }
}

/**
 * Returns host:port of the Temporal server of this run. All test files share it, so use a separate
 * task queue.
 */
export function temporalAddress(): string {
  return inject('temporalAddress');
}

/** Returns the URL of another database on the same server. */
export function databaseAt(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

/**
 * Returns the URL of a database behind a TCP proxy (host:port); without a Unix socket, which would
 * bypass the proxy.
 */
export function databaseBehind(proxy: string, url: string): string {
  const address = new URL(url);
  address.host = proxy;
  address.search = '';
  return address.href;
}

/** Runs one statement on a new connection. */
export async function execute(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Returns true while a process with this id exists. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the process ids of a running stack's programs and servers, from the files of the stack.
 */
export async function stackPids(dataDir: string): Promise<Record<string, number>> {
  const files = {
    api: 'api.pid',
    worker: 'worker.pid',
    temporal: 'temporal/temporal.pid',
    postgres: 'postgres/cluster/postmaster.pid',
  };
  const pids = Object.entries(files).map(async ([part, file]) => {
    const text = await readFile(join(dataDir, file), 'utf8').catch(() => null);
    return text === null ? [] : [[part, Number.parseInt(text, 10)] as const];
  });
  return Object.fromEntries((await Promise.all(pids)).flat());
}
