import { createHash } from 'node:crypto';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import pg from 'pg';
import type { Database } from '../../db/database.ts';
import { migrateToLatest } from '../../db/migrate.ts';
import type { DB } from '../../db/tables.ts';
import { databaseAt, execute } from '../support/servers.ts';
import { BlockedEffect, context, type Scheduler } from './scheduler.ts';

/**
 * The real SQL on a real PostgreSQL whose clock and randomness are the simulation's. PostgreSQL
 * looks for functions in `pg_catalog` first unless the search path names it later: so functions of
 * the same names in `public` are found in its place, by statements, defaults and functions alike.
 */
const clock = `
  create sequence simulated_tick;
  create function now() returns timestamptz stable language sql as
    $$ select pg_catalog.current_setting('simulated.now')::timestamptz $$;
  create function clock_timestamp() returns timestamptz volatile language sql as
    $$ select pg_catalog.current_setting('simulated.clock')::timestamptz
      + pg_catalog.nextval('simulated_tick') * interval '1 microsecond' $$;
  create function gen_random_uuid() returns uuid volatile language sql as
    $$ select pg_catalog.md5(pg_catalog.nextval('simulated_tick')::text)::uuid $$;
  create function uuidv7() returns uuid volatile language sql as
    $$ select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
      || pg_catalog.substr(pg_catalog.replace(gen_random_uuid()::text, '-', ''), 14))::uuid $$;
  create function random() returns float8 volatile language sql as
    $$ select ('x' || pg_catalog.substr(
      pg_catalog.md5(pg_catalog.nextval('simulated_tick')::text), 1, 8))::bit(31)::int / 2147483648.0 $$;
`;

/** New statistics would change plans, and with them the order of rows. */
const withoutVacuum = `do $$ declare name text; begin
  for name in select oid::regclass::text from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' loop
    execute 'alter table ' || name || ' set (autovacuum_enabled = off)';
  end loop; end $$`;

/**
 * Creates a database with the simulation's clock: an empty, migrated one, or a copy of `template`.
 * Returns its address.
 */
export async function createSimulatedDatabase(
  adminUrl: string,
  name: string,
  template?: string,
): Promise<string> {
  const like = template === undefined ? '' : ` template ${template}`;
  await execute(adminUrl, `create database ${name}${like}`);
  const settings = {
    search_path: 'public, pg_catalog',
    'simulated.now': `'2026-01-01T00:00:00Z'`,
    'simulated.clock': `'2026-01-01T00:00:00Z'`,
    // Deadlocked transactions must not wait for a real second.
    deadlock_timeout: `'20ms'`,
    // Generic plans only: planning takes longer than executing, and plans must not differ between
    // histories.
    plan_cache_mode: 'force_generic_plan',
  };
  for (const [setting, value] of Object.entries(settings)) {
    await execute(adminUrl, `alter database ${name} set ${setting} = ${value}`);
  }
  const url = databaseAt(adminUrl, name);
  if (template === undefined) {
    await execute(url, clock);
    await migrateToLatest(url);
    await execute(url, withoutVacuum);
  }
  return url;
}

/** Most connections at once; others wait, as for a pool. */
const connectionsMax = 12;
/** Milliseconds after which a statement is checked for a lock that it waits for. */
const lockWaitMs = 4;

interface Connection {
  client: pg.Client;
  pid: number;
  /** The virtual time that it was last set to. */
  clock: number;
  inTransaction: boolean;
}

/** The connections of all simulated processes to one database. */
export interface SimulatedServer {
  /** The handle that simulated code uses. */
  db: Database;
  /** A connection outside of the simulation, to prepare and check. */
  outside: pg.Client;
  play(scheduler: Scheduler): void;
  close(): Promise<void>;
}

export async function connectSimulated(url: string): Promise<SimulatedServer> {
  const outside = new pg.Client({ connectionString: url });
  await outside.connect();
  const free: Connection[] = [];
  const opened = new Set<pg.Client>();
  let scheduler: Scheduler | null = null;

  async function open(): Promise<Connection> {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    opened.add(client);
    client.once('end', () => opened.delete(client));
    const { rows } = await client.query('select pg_backend_pid() as pid');
    return { client, pid: rows[0].pid, clock: -1, inTransaction: false };
  }

  /** Returns statements that set the time of a connection; none if it is set already. */
  function timeFor(connection: Connection): string {
    const { now } = scheduler!;
    if (connection.clock === now) return '';
    connection.clock = now;
    const at = `'${new Date(now).toISOString()}'`;
    const names = connection.inTransaction ? ['clock'] : ['now', 'clock'];
    return names.map((name) => `set simulated.${name} = ${at};`).join(' ');
  }

  /** Sends one statement, together with the time. */
  async function send(connection: Connection, text: string, values: unknown[]) {
    const { client } = connection;
    // A rollback also resets the time that the transaction has set.
    if (text === 'rollback') {
      connection.clock = -1;
      return client.query(text);
    }
    const time = timeFor(connection);
    if (text === 'begin') {
      const results = (await client.query(`${time} begin`)) as unknown as pg.QueryResult[];
      return [results].flat().at(-1)!;
    }
    if (time !== '') await client.query(time);
    if (values.length === 0) return client.query(text);
    const name = createHash('sha1').update(text).digest('hex');
    return client.query({ text, values, name });
  }

  async function isBlocked(pid: number): Promise<boolean> {
    const { rows } = await outside.query(
      'select cardinality(pg_blocking_pids($1)) > 0 as blocked',
      [pid],
    );
    return rows[0].blocked;
  }

  /** Runs one statement. @throws BlockedEffect when it waits for a lock. */
  async function run(connection: Connection, text: string, values: unknown[]) {
    type Outcome = { value: pg.QueryResult } | { error: unknown };
    const result: Promise<Outcome> = send(connection, text, values).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    for (;;) {
      const outcome = await Promise.race([result, lockWait()]);
      if (outcome) {
        if ('error' in outcome) throw outcome.error;
        return outcome.value;
      }
      if (await isBlocked(connection.pid)) {
        throw new BlockedEffect(result, () => isBlocked(connection.pid));
      }
    }
  }

  class SimulatedConnection implements DatabaseConnection {
    readonly connection: Connection;
    constructor(connection: Connection) {
      this.connection = connection;
    }
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const label = sql.replaceAll(/\s+/g, ' ').trim().slice(0, 60);
      const { rows, rowCount, command } = await scheduler!.perform(label, () =>
        run(this.connection, sql, [...parameters]),
      );
      const affected = BigInt(rowCount ?? 0);
      const isWrite = /INSERT|UPDATE|DELETE|MERGE/.test(command);
      return { rows, ...(isWrite ? { numAffectedRows: affected } : {}) };
    }
    streamQuery(): AsyncIterableIterator<never> {
      throw new Error('Nothing is streamed.');
    }
  }

  const driver: Driver = {
    init: async () => {},
    async acquireConnection() {
      const { process } = context.getStore()!;
      const connection = await scheduler!.perform('connect', async () => free.pop() ?? open());
      const held = new SimulatedConnection(connection);
      process.onDeath.push(async () => {
        // The server process ends its current work.
        if (!given.has(held)) return;
        given.delete(held);
        await outside.query('select pg_terminate_backend($1, 5000)', [connection.pid]);
      });
      given.add(held);
      return held;
    },
    async beginTransaction(held) {
      (held as SimulatedConnection).connection.inTransaction = false;
      await held.executeQuery(CompiledQuery.raw('begin'));
      (held as SimulatedConnection).connection.inTransaction = true;
    },
    async commitTransaction(held) {
      await held.executeQuery(CompiledQuery.raw('commit'));
      (held as SimulatedConnection).connection.inTransaction = false;
    },
    async rollbackTransaction(held) {
      await held.executeQuery(CompiledQuery.raw('rollback'));
      (held as SimulatedConnection).connection.inTransaction = false;
    },
    async releaseConnection(held) {
      if (!given.delete(held as SimulatedConnection)) return;
      const { connection } = held as SimulatedConnection;
      if (free.length < connectionsMax) free.push(connection);
      else void connection.client.end();
    },
    destroy: async () => {},
  };
  const given = new Set<SimulatedConnection>();
  const db = new Kysely<DB>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => driver,
      createIntrospector: (of) => new PostgresIntrospector(of),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  return {
    db,
    outside,
    play(next) {
      scheduler = next;
      for (const connection of free) connection.clock = -1;
    },
    async close() {
      await Promise.all([...opened].map((client) => client.end()));
      await outside.end();
    },
  };
}

const realTimeout = setTimeout;
const lockWait = () => new Promise<null>((resolve) => realTimeout(() => resolve(null), lockWaitMs));
