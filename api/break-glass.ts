import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../config.ts';
import { openDatabase } from '../db/database.ts';
import { isConnectionRefused } from '../db/sql-state.ts';
import { normaliseEmail } from '../domain/email-address.ts';
import { issueLink } from './accounts/factors/break-glass.ts';

/** The command with which an operator creates a sign-in link for a user, with only the database. */

const usage = `Usage: npm run break-glass -- ADDRESS [--remove-factors]

Prints a link that logs the user of this address in once, within 15 minutes. The session lasts an
hour. With --remove-factors, the account loses its second factors and recovery codes.
In production: node dist/api/break-glass.js ADDRESS, with the settings of the API.`;

const { address, removeFactors } = readArguments();

try {
  // The command signs and encrypts nothing, so the secret may be missing.
  const config = readConfig({ JWT_SECRET: 'unused'.padEnd(32, '-'), ...process.env });
  const { db, close } = openDatabase(config.databaseUrl, { poolMax: 1 });
  const link = await issueLink(db, config, address, { removeFactors }).finally(close);
  if (link === null) {
    console.error(`No account has the address ${address}.`);
    process.exitCode = 1;
  } else {
    console.log(link);
  }
} catch (error) {
  console.error(sentenceOf(error));
  process.exitCode = 1;
}

function readArguments(): { address: string; removeFactors: boolean } {
  try {
    const { values, positionals } = parseArgs({
      options: { 'remove-factors': { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const [given = '', ...others] = positionals;
    const email = normaliseEmail(given);
    if (given === '' || others.length > 0) throw new Error('Give exactly one email address.');
    if (email === null) throw new Error(`"${given}" is not an email address.`);
    return { address: email, removeFactors: values['remove-factors'] };
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`);
    process.exit(2);
  }
}

/** Returns a sentence for errors that the operator can fix, and the stack of all other errors. */
function sentenceOf(error: unknown): unknown {
  if (error instanceof ConfigError) return error.message;
  if (!isConnectionRefused(error)) return error;
  return 'PostgreSQL cannot be reached. Start it, or correct DATABASE_URL.';
}
