import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { isLockTimeout, isTransient } from './sql-state.ts';

/**
 * Migrations are the files of `db/migrations`, applied in the order of their names and recorded in
 * the table `kysely_migration`. docs/upgrading.md has the rules for new files. Processes of two
 * versions run at the same time during an update. So this code accepts migrations of a newer
 * version, and no migration blocks other statements for long.
 *
 * Kysely's own migrator does neither, so it is not used. But this code uses the table and the
 * advisory lock of Kysely's migrator, so that processes of older versions, which use that migrator,
 * take turns with this code.
 */

const migrationsDir = path.join(import.meta.dirname, 'migrations');
/** The advisory lock of Kysely's migrator for PostgreSQL. */
const lockId = '3853314791062309107';
/** Milliseconds between two attempts to get the advisory lock. */
const turnMs = 200;
/**
 * Milliseconds for which a migration waits for a lock on a table. Meanwhile all other statements on
 * the table wait, too.
 */
const lockTimeoutMs = 1_000;
/** Number of attempts of a migration whose tables are locked by others. */
const attemptsMax = 90;
/** First line of a file whose statements run one by one, outside a transaction. */
const untransacted = '-- no transaction\n';

const table = `create table kysely_migration
  (name varchar(255) primary key, timestamp varchar(255) not null)`;

/** The migrations of a database, compared with those of this version. */
export interface SchemaState {
  /** Names of migrations that the database lacks, in order. */
  pending: string[];
  /** Names of migrations that only a newer version has, in order. */
  newer: string[];
}

export interface MigrateOptions {
  /** Receives one sentence that names what the migration waits for. */
  onWait?: (sentence: string) => void;
  /** The folder of the migration files. */
  dir?: string;
}

/**
 * Applies the missing migrations to the database at `url`, each in its own transaction unless its
 * file begins with `-- no transaction`. If several processes call it at once, one does the work and
 * the others wait.
 * @returns the names of migrations that a newer version has applied
 * @throws MigrationFailed; ForeignSchema when an earlier migration is missing, or has another name
 */
export async function migrateToLatest(
  url: string,
  { onWait = () => {}, dir = migrationsDir }: MigrateOptions = {},
): Promise<string[]> {
  const known = await listMigrations(dir);
  return withClient(url, async (client) => {
    await takeTurn(client, onWait);
    const { pending, newer } = compare(known, await listApplied(client));
    // `create table if not exists` would fail for a role that may not create tables, even if no
    // migration is missing.
    if (!(await hasTable(client))) await client.query(table);
    for (const name of pending) {
      const text = await readFile(path.join(dir, `${name}.sql`), 'utf8');
      await applyWithRetries(client, { name, text }, onWait);
    }
    return newer;
  });
}

/**
 * Returns the migrations that are missing in the database at `url`, and those that a newer version
 * has applied. Changes nothing.
 * @throws ForeignSchema when an earlier migration is missing, or has another name
 */
export async function schemaState(url: string, dir = migrationsDir): Promise<SchemaState> {
  const known = await listMigrations(dir);
  return withClient(url, async (client) => compare(known, await listApplied(client)));
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, keepAlive: true });
  // When a connection dies, the current query fails. Without a listener for `error`, the process
  // would also end.
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    // Closing the connection also releases the advisory lock.
    await client.end();
  }
}

/** Returns the names of all migrations of this version, in order. */
export async function listMigrations(dir = migrationsDir): Promise<string[]> {
  const files = await readdir(dir);
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => path.basename(file, '.sql'))
    .toSorted();
}

async function hasTable(client: Client): Promise<boolean> {
  const { rows } = await client.query(
    `select to_regclass('kysely_migration') is not null as found`,
  );
  return rows[0].found;
}

async function listApplied(client: Client): Promise<string[]> {
  if (!(await hasTable(client))) return [];
  const { rows } = await client.query('select name from kysely_migration');
  return rows.map(({ name }) => String(name)).toSorted();
}

/**
 * The schema of the database was made by another line of versions: it is neither older nor newer
 * than this version's schema.
 */
export class ForeignSchema extends Error {}

/** A migration was not applied. The message names it, with the reason. */
export class MigrationFailed extends Error {}

function compare(known: readonly string[], applied: readonly string[]): SchemaState {
  const latest = known.at(-1) ?? '';
  const newer = applied.filter((name) => name > latest);
  const shared = applied.filter((name) => name <= latest);
  const differs = shared.findIndex((name, index) => name !== known[index]);
  if (differs >= 0) {
    throw new ForeignSchema(
      `The database has the migration ${shared[differs]} where this version has ` +
        `${known[differs]}. So an unrelated build of Everpost has created it. Set DATABASE_URL to ` +
        'an empty database. The database of `npm start` is in the folder ./var. If you do not ' +
        'need its data, delete this folder.',
    );
  }
  const pending = known.slice(shared.length);
  if (newer.length > 0 && pending.length > 0) {
    throw new ForeignSchema(
      `The database has the migration ${newer[0]} of a newer version, but lacks ${pending[0]}, ` +
        'which comes before it. So an unrelated build of Everpost has created it. Set ' +
        'DATABASE_URL to an empty database.',
    );
  }
  return { pending, newer };
}

/**
 * Waits for the advisory lock. Tries repeatedly instead of waiting inside PostgreSQL, because a
 * waiting statement holds a snapshot, and `create index concurrently` waits for snapshots.
 */
async function takeTurn(client: Client, onWait: (sentence: string) => void): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const { rows } = await client.query(`select pg_try_advisory_lock(${lockId}) as locked`);
    if (rows[0].locked) return;
    if (attempt === 1)
      onWait('Another process is migrating the database. Waiting until it has finished.');
    await sleep(turnMs);
  }
}

interface Migration {
  name: string;
  text: string;
}

/**
 * Applies a migration. If it cannot lock its tables, the statements that wait behind it continue
 * first, and it tries again.
 */
async function applyWithRetries(
  client: Client,
  migration: Migration,
  onWait: (sentence: string) => void,
): Promise<void> {
  const { name } = migration;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await apply(client, migration);
      return;
    } catch (error) {
      const isLocked = isLockTimeout(error) || isTransient(error);
      if (!isLocked) {
        const reason = error instanceof Error ? error.message : 'PostgreSQL gave no reason';
        throw new MigrationFailed(`Migration ${name} failed: ${reason}`, { cause: error });
      }
      if (attempt === attemptsMax) {
        throw new MigrationFailed(
          `Migration ${name} could not lock its tables in ${attemptsMax} attempts: a long ` +
            'transaction holds them. End it (see pg_stat_activity), and start again.',
          { cause: error },
        );
      }
      if (attempt === 1) onWait(`Migration ${name} waits: a transaction holds its tables.`);
      await sleep(lockTimeoutMs * (0.5 + Math.random()));
    }
  }
}

async function apply(client: Client, { name, text }: Migration): Promise<void> {
  if (text.startsWith(untransacted)) {
    // Each statement is a query of its own, because PostgreSQL runs several statements of one query
    // in a transaction.
    for (const statement of text.split(/;$/m)) {
      if (statement.trim() !== '') await client.query(statement);
    }
    await note(client, name);
    return;
  }
  await client.query('begin');
  try {
    await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
    await client.query(text);
    await note(client, name);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

async function note(client: Client, name: string): Promise<void> {
  await client.query('insert into kysely_migration (name, timestamp) values ($1, $2)', [
    name,
    new Date().toISOString(),
  ]);
}
