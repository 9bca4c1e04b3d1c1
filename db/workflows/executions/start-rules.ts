import { type RawBuilder, sql } from 'kysely';
import { limits } from '../../../domain/limits.ts';

/**
 * SQL of the re-entry rules. Each rule takes one look-up in an index, for any number of past
 * executions of a contact. The caller has locked the contact, so no other start can come in
 * between.
 */

/**
 * The reason why a start is refused: another execution exists, the last start is too recent, or too
 * many executions are active.
 */
export type StartRefusal = 'exists' | 'too_soon' | 'too_many';

/**
 * Returns SQL that selects the `StartRefusal` of a contact that would enter a workflow; null: the
 * execution may start.
 * @param workflow the alias of the workflow's row
 * @param start.key the key of the execution; null: the workflow has no keys
 */
export function startRefusal(
  workflow: string,
  { contactId, key }: { contactId: RawBuilder<unknown>; key: RawBuilder<unknown> },
): RawBuilder<StartRefusal | null> {
  const column = (name: string) => sql.ref(`${workflow}.${name}`);
  const isOfContact = isOwn(workflow, contactId);
  const isRecent = sql`inner_earlier.started_at >
    clock_timestamp() - make_interval(secs => ${column('reentry_min_interval')})`;
  const hasKey = sql`${isOfContact} and inner_earlier.key = ${key}`;
  const exists = (which: RawBuilder<unknown>) =>
    sql`exists (select from execution inner_earlier where ${which})`;
  const areAsMany = (which: RawBuilder<unknown>, max: number) =>
    sql`(select count(*) from (select from execution inner_earlier where ${which}
      limit ${max}) inner_counted) = ${max}`;
  return sql<StartRefusal | null>`case
    when ${column('execution_key')} is null then case
      when ${isTaken(workflow, contactId)} then 'exists'
      when ${column('reentry_min_interval')} is not null and ${exists(sql`${isOfContact} and ${isRecent}`)}
        then 'too_soon'
      when ${column('reentry_mode')} = 'parallel'
        and ${areAsMany(sql`${isOfContact} and ${isActive}`, limits.parallelExecutions)} then 'too_many' end
    when ${column('reentry_mode')} = 'once' and ${exists(hasKey)} then 'exists'
    when ${exists(sql`${isOfContact} and ${isActive} and inner_earlier.slot = ${key}`)} then 'exists'
    when ${column('reentry_min_interval')} is not null and ${exists(sql`${hasKey} and ${isRecent}`)}
      then 'too_soon'
    when ${areAsMany(sql`${isOfContact} and ${isActive} and inner_earlier.slot is not null`, limits.activeKeys)}
      then 'too_many'
    end`;
}

/**
 * Returns SQL that is true if an execution of a contact prevents another one in a workflow without
 * keys. With `once`, any execution prevents it; with `after_end`, only an active execution.
 */
export function isTaken(workflow: string, contactId: RawBuilder<unknown>): RawBuilder<boolean> {
  const isOfContact = isOwn(workflow, contactId);
  return sql<boolean>`case ${sql.ref(`${workflow}.reentry_mode`)}
    when 'once' then exists (select from execution inner_earlier where ${isOfContact})
    when 'after_end' then exists (select from execution inner_earlier
      where ${isOfContact} and ${isActive} and inner_earlier.slot is not null)
    else false end`;
}

/** SQL of the slot of a new execution: see the column `slot`. */
export function newSlot(workflow: string, key: RawBuilder<unknown>): RawBuilder<string> {
  return sql<string>`case ${sql.ref(`${workflow}.reentry_mode`)} when 'parallel' then uuid_v7()::text
    else coalesce(${key}, '') end`;
}

/**
 * SQL that ignores a start if the same statement has already started an execution with the same
 * slot.
 */
export const unlessStarted = sql`
  on conflict (workflow_id, contact_id, slot) where status in ('RUNNING', 'WAITING') do nothing`;

const isActive = sql`inner_earlier.status in ('RUNNING', 'WAITING')`;

function isOwn(workflow: string, contactId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`inner_earlier.workflow_id = ${sql.ref(`${workflow}.id`)}
    and inner_earlier.contact_id = ${contactId}`;
}
