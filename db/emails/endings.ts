import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { following, ledgerColumns, whenFailing } from '../sql/ledger.ts';
import { traceEntry } from '../sql/mail-trace.ts';

/** Fails the unsent mail of ended executions. The caller has locked their contacts. */
export async function failWaitingMail(
  tx: Database,
  executionIds: readonly string[],
  reason: 'execution_ended' | 'project_disabled',
): Promise<void> {
  if (executionIds.length === 0) return;
  await sql`
    with failed as (
      update email set status = 'FAILED', error = ${reason}, updated_at = now(),
          trace = trace || ${traceEntry('withheld', sql`jsonb_build_object('reason', ${reason}::text)`)}
        where workflow_execution_id = any(${executionIds}::uuid[]) and status = 'PENDING'
        returning ${ledgerColumns('email')}
    ), ${following({ now: 'failed' }, whenFailing)}
    select from failed`.execute(tx);
}
