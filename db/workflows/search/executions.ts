import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf, containsText, isoInstant } from '../../expressions.ts';
import { type ExecutionListItem, withContactAndStep } from '../executions/executions.ts';
import type { Position } from '../../../domain/cursor.ts';

/** Searches executions over all workflows of a project. */

/** Filters of a search for executions; absent filters do not apply. */
export interface ExecutionSearch {
  statuses?: readonly string[] | undefined;
  workflowId?: string | undefined;
  contactId?: string | undefined;
  /** The whole address of the contact, in its stored form. */
  email?: string | undefined;
  /** The step at which the execution is, or at which it ended. */
  stepId?: string | undefined;
  version?: number | undefined;
  key?: string | undefined;
  /**
   * True: only executions that were paused individually, also ended ones. False: only other
   * executions.
   */
  paused?: boolean | undefined;
  hasWarnings?: boolean | undefined;
  isStuck?: boolean | undefined;
  /** True if no worker is alive: running executions then count as stuck. */
  isDown?: boolean | undefined;
  /** True if no sweep runs: executions that are overdue for reconciliation then count as stuck. */
  isSweepLate?: boolean | undefined;
  startedAfter?: Date | undefined;
  startedBefore?: Date | undefined;
  endedAfter?: Date | undefined;
  endedBefore?: Date | undefined;
  /** Part of the execution's error, in any case. */
  error?: string | undefined;
  /** The whole error. */
  errorEquals?: string | undefined;
}

export interface FoundExecution extends ExecutionListItem {
  current_workflow_name: string;
  /** `started_at` to the microsecond: the position in the list. */
  started_instant: string;
}

/**
 * Returns the matching executions, newest start first, and their number (0 on later pages). A
 * search by contact reads all executions of the contact, because they are few. For other searches,
 * indexes have the executions of each workflow by status, key, warnings, stuck or pause, in the
 * order of the list. So the cost of a page does not depend on the number of executions.
 */
export async function searchExecutions(
  db: Database,
  projectId: string,
  search: ExecutionSearch,
  { after, limit }: { after?: Position | undefined; limit: number },
): Promise<{ rows: FoundExecution[]; total: number }> {
  const place = after
    ? sql`(started_at, id) < (${after.value}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  const { places, matches } = searchParts(projectId, search);
  const parts = matches.map(
    (matching) => sql`(select id, started_at from execution where ${matching} and ${place}
      order by started_at desc, id desc limit ${limit})`,
  );
  const page = sql<string>`(select found.id from ${places} cross join lateral (
      ${sql.join(parts, sql` union all `)}) found
    order by found.started_at desc, found.id desc limit ${limit})`;
  const rows = await withContactAndStep(
    db.selectFrom('execution').where('execution.id', 'in', page),
  )
    .innerJoin('workflow', 'workflow.id', 'execution.workflow_id')
    .select('workflow.name as current_workflow_name')
    .select(isoInstant(sql`execution.started_at`).as('started_instant'))
    .orderBy('execution.started_at', 'desc')
    .orderBy('execution.id', 'desc')
    .execute();
  const counts = matches.map(
    (matching) => sql`select count(*) as number from execution where ${matching}`,
  );
  const counted = after
    ? []
    : (
        await sql<{ total: number }>`
        select coalesce(sum(found.number), 0)::int as total from ${places} cross join lateral (
          ${sql.join(counts, sql` union all `)}) found`.execute(db)
      ).rows;
  return { rows: rows as unknown as FoundExecution[], total: counted[0]?.total ?? 0 };
}

/**
 * Returns the places to search, as a table `place` (contacts, workflows, or workflows with a
 * status), and the conditions on executions in each place. For each execution at most one condition
 * is true, and each condition can use an index.
 */
export function searchParts(
  projectId: string,
  search: ExecutionSearch,
): { places: RawBuilder<unknown>; matches: RawBuilder<boolean>[] } {
  const { statuses, workflowId, contactId, email, error, errorEquals } = search;
  const isOfContact = contactId !== undefined || email !== undefined;
  // Each of these filters has an index, so splitting the search by status would not help.
  const isRare = search.isStuck || search.hasWarnings || search.paused || search.key !== undefined;
  // Only failed executions have an error.
  const isFailed = error !== undefined || errorEquals !== undefined;
  const asked = isFailed ? ['FAILED'].filter((one) => isAmong(one, statuses)) : statuses;
  const byStatus = asked !== undefined && !isOfContact && !isRare;
  const places = isOfContact
    ? sql`(select id as contact_id from contact inner_contact where ${allOf([
        sql`project_id = ${projectId}`,
        ...when(contactId, (id) => sql`id = ${id}`),
        ...when(email, (address) => sql`email = ${address}`),
      ])}) place`
    : sql`(select id as workflow_id${byStatus ? sql`, status` : sql``} from workflow inner_searched
        ${byStatus ? sql`cross join unnest(${asked}::text[]) status` : sql``}
        where ${allOf([
          sql`project_id = ${projectId}`,
          ...when(workflowId, (id) => sql`id = ${id}`),
        ])}) place`;
  const conditions = [
    ...(isOfContact
      ? [
          sql`execution.contact_id = place.contact_id`,
          // Executions of a deleted workflow remain until they are deleted in pages.
          sql`workflow_id in (select id from workflow inner_own where project_id = ${projectId})`,
          ...when(workflowId, (id) => sql`workflow_id = ${id}`),
        ]
      : [sql`execution.workflow_id = place.workflow_id`]),
    ...(byStatus
      ? [sql`execution.status = place.status`]
      : when(asked, (list) => sql`status = ${anyOf(list, 'text')}`)),
    ...filters(search),
  ];
  const kinds = search.isStuck ? stuckKinds(search).map((kind) => [kind]) : [[]];
  return { places, matches: kinds.map((kind) => allOf([...conditions, ...kind])) };
}

/**
 * SQL conditions; an execution is stuck if one of them is true. The rule is the same as in
 * `stuckOf` of the API.
 */
export function stuckKinds({ isDown, isSweepLate }: ExecutionSearch): RawBuilder<unknown>[] {
  const recorded = sql`stuck_since is not null and status in ('RUNNING', 'WAITING')`;
  const isUnrecorded = sql`stuck_since is null and paused_at is null and held_at is null`;
  if (isDown) return [recorded, sql`${isUnrecorded} and status = 'RUNNING'`];
  if (!isSweepLate) return [recorded];
  const unseen = sql`${isUnrecorded} and status in ('RUNNING', 'WAITING') and next_reconcile_at < now()`;
  return [recorded, unseen];
}

function filters(search: ExecutionSearch): RawBuilder<unknown>[] {
  const { stepId, version, paused, startedAfter, startedBefore, endedAfter, endedBefore } = search;
  return [
    ...when(stepId, (id) => sql`current_step_id = ${id}`),
    ...when(version, (number) => sql`workflow_version = ${number}`),
    ...when(search.key, (text) => sql`key = ${text}`),
    ...when(paused, (is) => (is ? sql`paused_at is not null` : sql`paused_at is null`)),
    ...(search.hasWarnings ? [sql`warnings > 0`] : []),
    ...when(startedAfter, (moment) => sql`started_at > ${moment}`),
    ...when(startedBefore, (moment) => sql`started_at < ${moment}`),
    ...when(endedAfter, (moment) => sql`completed_at > ${moment}`),
    ...when(endedBefore, (moment) => sql`completed_at < ${moment}`),
    ...when(search.error, (text) => containsText(['execution.error'], text)),
    ...when(search.errorEquals, (text) => sql`execution.error = ${text}`),
  ];
}

function when<T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>) {
  return value === undefined ? [] : [condition(value)];
}

function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<boolean> {
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

function isAmong(one: string, list: readonly string[] | undefined): boolean {
  return list === undefined || list.includes(one);
}
