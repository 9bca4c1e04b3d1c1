import { DefaultLogger, Runtime } from '@temporalio/worker';
import { openDatabase } from '../db/database.ts';
import { isUuid } from '../domain/ids.ts';
import { bundleWorkflows } from '../worker/bundle.ts';
import { NotReset, resetExecution } from '../worker/reset.ts';
import { findServers } from './servers/connect.ts';

/**
 * `npm run reset -- <executionId>`: continues an active execution whose run has ended or cannot be
 * replayed by the current code. If a reset does not help, prints why.
 */
async function main(): Promise<number> {
  const [executionId] = process.argv.slice(2);
  if (!executionId || !isUuid(executionId)) {
    console.error(
      'Usage: npm run reset -- <execution id>\n\nContinues an active execution whose run has ended or cannot be replayed.',
    );
    return 2;
  }
  const { temporal, databaseUrl } = await findServers(process.env);
  if (databaseUrl === null) {
    console.error('Everpost does not run here. Run "npm start" first, or set DATABASE_URL.');
    return 2;
  }
  // This command prints its own messages about divergences, so the messages of the SDK are off.
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
  const database = openDatabase(databaseUrl, { poolMax: 1 });
  try {
    const { runId, eventId } = await resetExecution(
      { db: database.db, client: temporal.client, bundle: await bundleWorkflows() },
      executionId,
    );
    console.log(`The execution continues as run ${runId}, from event ${eventId} of its history.`);
    return 0;
  } catch (error) {
    if (!(error instanceof NotReset)) throw error;
    console.error(error.message);
    return 1;
  } finally {
    await temporal.close();
    await database.close();
  }
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
