import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from './database.ts';
import { ForeignSchema, MigrationFailed, migrateToLatest } from './migrate.ts';
import { reEncrypt } from './projects/re-encryption.ts';
import { isConnectionRefused, isTimeLimit, isTransient } from './sql-state.ts';
import { createCipher } from '../providers/encryption.ts';

const usage = `Usage: npm run migrate      Applies the missing migrations to the database
       npm run re-encrypt   Encrypts stored values again with the current key: DATA_ENCRYPTION_KEY, or
                            JWT_SECRET without it. Former keys must be in
                            DATA_ENCRYPTION_KEY_PREVIOUS or JWT_SECRET_PREVIOUS.

The database is that of DATABASE_URL. Neither command takes an argument.`;

try {
  const isReEncrypting = readTask();
  const config = readConfig(process.env);
  if (isReEncrypting) {
    const { db, close } = openDatabase(config.databaseUrl, { poolMax: 2 });
    const count = await reEncrypt(db, createCipher(config)).finally(close);
    console.log(`${count} encrypted values were re-encrypted with the current key.`);
  } else {
    const newer = await migrateToLatest(config.databaseUrl, {
      onWait: (line) => console.log(line),
    });
    console.log(
      newer.length === 0
        ? 'The database is up to date.'
        : `Nothing to do: a newer version has migrated the database up to ${newer.at(-1)}.`,
    );
  }
} catch (error) {
  console.error(sentenceOf(error));
  process.exitCode = 1;
}

/**
 * Returns true for the argument `re-encrypt`, and false without an argument. Any other argument
 * ends the process.
 */
function readTask(): boolean {
  try {
    const { values, positionals } = parseArgs({
      options: { help: { type: 'boolean' } },
      allowPositionals: true,
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const [task, ...others] = positionals;
    const unknown = task === 're-encrypt' ? others[0] : task;
    if (unknown === undefined) return task !== undefined;
    throw new Error(`Unknown argument '${unknown}'.`);
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** Returns a sentence for errors that the operator can fix, and the stack of all other errors. */
function sentenceOf(error: unknown): unknown {
  const isKnown = [ConfigError, ForeignSchema, MigrationFailed].some(
    (kind) => error instanceof kind,
  );
  if (isKnown) return (error as Error).message;
  const { message, code } = error as Error & { code?: string };
  if (isTimeLimit(error) || isTransient(error)) {
    return `PostgreSQL has stopped a statement: ${message}. Run this command again.`;
  }
  if (!isConnectionRefused(error)) return error;
  return (
    `PostgreSQL refuses the connection or cannot be reached: ${message || code}. ` +
    'Start it, or correct DATABASE_URL.'
  );
}
