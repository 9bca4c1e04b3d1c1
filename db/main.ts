import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from './database.ts';
import { migrateToLatest } from './migrate.ts';
import { reEncrypt } from './projects/re-encryption.ts';
import { createCipher } from '../providers/encryption.ts';

/**
 * `npm run migrate`: migrates the database to the newest version and exits. `npm run re-encrypt`:
 * re-encrypts stored values under the current key and exits.
 */
try {
  const config = readConfig(process.env);
  if (process.argv[2] === 're-encrypt') {
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
  if (!(error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
