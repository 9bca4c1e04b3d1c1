import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { onCommitted } from '../db/commits.ts';
import { type Database, openDatabase } from '../db/database.ts';
import { findServers } from '../dev/servers/connect.ts';
import { defaultTaskQueue } from '../domain/runs/runs.ts';
import { createDispatcher } from '../workflows/client/dispatcher.ts';
import { dispatchStore } from '../workflows/client/dispatch-store.ts';
import { Unreachable } from './run.ts';

/** The servers of a command. */
export interface Servers {
  db: Database;
  client: Client;
  taskQueue: string;
}

const log = {
  warn: (_: object, message: string) => process.stderr.write(`${message}\n`),
};

/** Milliseconds within which a server must answer. */
const answerMs = 15_000;

/**
 * Runs `work` with PostgreSQL and Temporal, those of the environment or else of `npm start`.
 * @throws Unreachable when one of them does not answer; NoServers when none are known
 */
export async function withServers<T>(
  env: NodeJS.ProcessEnv,
  work: (servers: Servers) => Promise<T>,
): Promise<T> {
  const { temporal, databaseUrl } = await findServers(env);
  if (databaseUrl === null)
    throw new Unreachable('Set DATABASE_URL to the database of the server.');
  const database = openDatabase(databaseUrl, { poolMax: 4 });
  try {
    const { db } = database;
    await within(
      sql`select from installation`.execute(db),
      'PostgreSQL does not answer, or is not the migrated database of an Everpost server.',
    );
    const answers = await within(temporal.answers(), 'Temporal does not answer.');
    if (!answers) throw new Unreachable('Temporal does not answer, or lacks the namespace.');
    const taskQueue = env['TEMPORAL_TASK_QUEUE'] || defaultTaskQueue;
    const { client } = temporal;
    // Commits of the command start and signal runs at once, as those of the other processes.
    const dispatcher = createDispatcher({ client, taskQueue, store: dispatchStore(db), log });
    onCommitted(db, (runs) => dispatcher.dispatch(runs));
    return await work({ db, client, taskQueue }).finally(() => dispatcher.close());
  } finally {
    await temporal.close().catch(() => {});
    await database.close().catch(() => {});
  }
}

async function within<T>(answer: Promise<T>, sentence: string): Promise<T> {
  const late = sleep(answerMs, undefined, { ref: false }).then(() => {
    throw new Unreachable(sentence);
  });
  late.catch(() => {});
  return Promise.race([
    answer.catch((error: unknown) => {
      throw new Unreachable(sentence, { cause: error });
    }),
    late,
  ]);
}
