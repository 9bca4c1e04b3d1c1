import { type RawBuilder, sql } from 'kysely';
import { traceEntry } from './mail-trace.ts';

/**
 * SQL assignments that fail a waiting message because its campaign was cancelled, maybe because the
 * project was disabled.
 * @param email the table or its alias, which is updated.
 */
export function suppressed(email: string): RawBuilder<unknown> {
  const reason = endedBy(email);
  return sql`status = 'FAILED', error = ${reason}, updated_at = now(),
    trace = ${sql.ref(`${email}.trace`)}
      || ${traceEntry('withheld', sql`jsonb_build_object('reason', ${reason})`)}`;
}

/**
 * SQL that selects the reason why a campaign has ended, as `email.error` stores it.
 * @param email the table or its alias.
 */
export function endedBy(email: string): RawBuilder<string> {
  return sql<string>`case when exists (select from project inner_disabled
      where inner_disabled.id = ${sql.ref(`${email}.project_id`)}
        and inner_disabled.disabled_reason is not null)
    then 'project_disabled' else 'campaign_cancelled' end`;
}
