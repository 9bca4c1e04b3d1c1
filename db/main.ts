import { readConfig } from '../config.ts';
import { migrateToLatest } from './database.ts';

/** `npm run migrate`: brings the database to the newest migration and ends. */
await migrateToLatest(readConfig(process.env).databaseUrl);
console.log('The database is up to date.');
