import { sql } from 'kysely';
import { openDatabase } from '../../db/database.ts';
import { following, ledgerColumns } from '../../db/sql/ledger.ts';

/** Fills the tables by which mail is found, after a benchmark has inserted messages itself. */
export async function followInsertedMail(databaseUrl: string): Promise<void> {
  const { db, close } = openDatabase(databaseUrl);
  const tables = ['queue', 'moments', 'providerMessages', 'lateMail'] as const;
  await sql`
    with mail as (select ${ledgerColumns('email')} from email), ${following({ now: 'mail' }, tables)}
    select`.execute(db);
  await close();
}
