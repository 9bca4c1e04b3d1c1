import { sql } from 'kysely';
import { categoryOf } from '../../domain/billing.ts';
import type { Database } from '../database.ts';
import type { ClaimedShare } from './billing.ts';

/**
 * Bills accepted mail whose row was deleted with its contact while the mail was being sent. The
 * mail counts for the project in this month and, if there is one, for the billing customer. Returns
 * those of the given messages whose rows are deleted.
 */
export async function billDepartedMail(
  tx: Database,
  projectId: string,
  accepted: readonly ClaimedShare[],
): Promise<ClaimedShare[]> {
  if (accepted.length === 0) return [];
  const ids = accepted.map(({ id }) => id);
  const { rows } = await sql<{ id: string }>`
    select id from email where id = any(${ids}::uuid[])`.execute(tx);
  const left = new Set(rows.map(({ id }) => id));
  const gone = accepted.filter(({ id }) => !left.has(id));
  for (const { id, source_type: source, billed_units: units } of gone) {
    await sql`
      insert into usage_report (email_id, customer, units, sent_at)
        select ${id}, customer, ${units}, clock_timestamp()
          from project where id = ${projectId} and customer is not null
        on conflict do nothing`.execute(tx);
    // The used allowance was given back when the row was deleted. Without limits there is no row
    // for this month.
    await sql`
      update allowance set taken = taken + ${units}
        where project_id = ${projectId} and category = ${categoryOf(source)}
          and month = date_trunc('month', now() at time zone 'UTC')::date`.execute(tx);
  }
  return gone;
}
