import { ConfigError, readConfig } from '../config.ts';
import { migrateToLatest } from './database.ts';

/** `npm run migrate`: brings the database to the newest migration and ends. */
try {
  await migrateToLatest(readConfig(process.env).databaseUrl);
  console.log('The database is up to date.');
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
