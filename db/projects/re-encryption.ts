import { sql } from 'kysely';
import type { Database } from '../database.ts';

/**
 * Columns with encrypted values that are kept for long. Two other columns are encrypted, too, but
 * their rows are deleted soon: `idempotency.response` within `IDEMPOTENCY_KEY_TTL_HOURS`, and
 * `plan.files` within seven days.
 */
export const encryptedColumns = [
  { table: 'project', key: 'id', column: 'webhook_signing_secret' },
  { table: 'secret', key: 'id', column: 'value' },
  { table: 'event_subscription', key: 'id', column: 'secret' },
  { table: 'event_subscription', key: 'id', column: 'previous_secret' },
  { table: 'event_subscription', key: 'id', column: 'headers' },
  { table: 'domain_key', key: 'id', column: 'private_key' },
  { table: 'factor', key: 'id', column: 'secret' },
  { table: 'mail_provider', key: 'id', column: 'secret' },
  { table: 'mail_provider', key: 'id', column: 'feedback_secret' },
  { table: 'suppression_key', key: 'owner_id', column: 'key' },
] as const;

const pageRows = 500;

/**
 * Encrypts values of previous keys again, with the current key. Returns the number of changed
 * values. It may run at any time, be stopped, and be repeated.
 * @throws Error when a value was encrypted with an unknown key; earlier values are done.
 */
export async function reEncrypt(
  db: Database,
  cipher: { reencrypt(bytes: Buffer): Buffer | null },
): Promise<number> {
  let changed = 0;
  for (const { table, key, column } of encryptedColumns) {
    let after: string | null = null;
    for (;;) {
      const page: { rows: { id: string; value: Buffer }[] } = await sql<{
        id: string;
        value: Buffer;
      }>`select ${sql.ref(key)} as id, ${sql.ref(column)} as value from ${sql.table(table)}
          where ${sql.ref(column)} is not null
            and ${after === null ? sql`true` : sql`${sql.ref(key)} > ${after}`}
          order by ${sql.ref(key)} limit ${pageRows}`.execute(db);
      for (const { id, value } of page.rows) {
        const reencrypted = cipher.reencrypt(value);
        if (!reencrypted) continue;
        // A value that was replaced in the meantime is skipped: it is encrypted with the current
        // key.
        const { numAffectedRows } = await sql`update ${sql.table(table)}
          set ${sql.ref(column)} = ${reencrypted}
          where ${sql.ref(key)} = ${id} and ${sql.ref(column)} = ${value}`.execute(db);
        changed += Number(numAffectedRows ?? 0);
      }
      after = page.rows.at(-1)?.id ?? null;
      if (page.rows.length < pageRows) break;
    }
  }
  return changed;
}
