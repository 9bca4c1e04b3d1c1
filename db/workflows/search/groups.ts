import { type RawBuilder, sql } from 'kysely';
import { noSweepReason, noWorkerReason } from '../../../domain/runs/reconcile.ts';
import { limits } from '../../../domain/limits.ts';
import { withinTime } from '../../bounded.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { type ExecutionListItem, withContactAndStep } from '../executions/executions.ts';
import { type ExecutionSearch, searchParts, stuckKinds } from './executions.ts';

/** Groups executions that need the attention of an operator. */

/** An execution counts in the first kind of this list that applies. */
export const groupKinds = ['failed', 'stuck', 'warning'] as const;
export type GroupKind = (typeof groupKinds)[number];

/** Executions of a workflow with the same error at the same step. */
export interface ExecutionGroup {
  kind: GroupKind;
  workflow: { id: string; name: string };
  /** null: the executions have no current step. */
  step: ExecutionListItem['current_step'];
  /** The reason why the executions failed or are stuck; null: unknown. */
  error: string | null;
  count: number;
  /** When the first and the last execution failed, got stuck, or had its last change. */
  firstAt: Date;
  lastAt: Date;
}

type Search = Pick<ExecutionSearch, 'isDown' | 'isSweepLate' | 'workflowId'>;

/** Maximum number of groups. */
const groupsMax = 200;

/**
 * Returns the groups of a project, largest first. Reads only failed and stuck executions and those
 * with warnings; each of these kinds has an index.
 * @param search.kind only this kind; absent: all
 * @throws Problem STATS_TOO_HEAVY
 */
export async function groupExecutions(
  db: Database,
  projectId: string,
  { kind, ...search }: Search & { kind?: GroupKind | undefined },
): Promise<ExecutionGroup[]> {
  const kinds = groupKinds.filter((one) => kind === undefined || one === kind);
  const members = kinds.map((one) => {
    const {
      places,
      matches,
      error,
      at,
      isLeftOut = sql`false`,
    } = membersOf[one](projectId, search);
    const parts = matches.map(
      (holds) => sql`(select id, workflow_id, current_step_id, ${error} as error, ${at} as at
        from execution where ${holds} and not (${isLeftOut}))`,
    );
    return sql`select ${sql.lit(one)} as kind, found.id, found.workflow_id,
        found.current_step_id, found.error, found.at from ${places}
      cross join lateral (${sql.join(parts, sql` union all `)}) found`;
  });
  return withinTime(db, { ms: limits.statsTimeMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const { rows } = await sql<Grouped>`
      select kind, error, count(*)::int as count, min(at) as "firstAt", max(at) as "lastAt",
          max(id::text) as sample
        from (${sql.join(members, sql` union all `)}) member
        group by kind, workflow_id, current_step_id, error
        order by count(*) desc, max(at) desc, max(id::text) limit ${groupsMax}`.execute(tx);
    const samples = rows.map(({ sample }) => sample);
    const names = await readNames(tx, samples);
    return rows.flatMap(({ sample, ...group }) => {
      const named = names.get(sample);
      return named ? [{ ...group, ...named }] : [];
    });
  });
}

type Names = Pick<ExecutionGroup, 'workflow' | 'step'>;
type Grouped = Omit<ExecutionGroup, keyof Names> & { sample: string };

/** The executions of a kind, with SQL of their reason and time. */
interface Members extends ReturnType<typeof searchParts> {
  error: RawBuilder<unknown>;
  at: RawBuilder<unknown>;
  /** SQL that is true for executions that count in another kind. */
  isLeftOut?: RawBuilder<unknown>;
}

const membersOf: Record<GroupKind, (projectId: string, search: Search) => Members> = {
  failed: (projectId, { workflowId }) => ({
    ...searchParts(projectId, { statuses: ['FAILED'], workflowId }),
    error: sql`execution.error`,
    at: sql`coalesce(completed_at, updated_at)`,
  }),
  stuck: (projectId, search) => ({
    ...searchParts(projectId, { isStuck: true, ...search }),
    error: sql`case when stuck_since is null
      then ${search.isDown ? noWorkerReason : noSweepReason}::text else stuck_reason end`,
    at: sql`coalesce(stuck_since, updated_at)`,
  }),
  warning: (projectId, { workflowId, ...outage }) => ({
    ...searchParts(projectId, { hasWarnings: true, workflowId }),
    error: sql`null::text`,
    at: sql`coalesce(completed_at, updated_at)`,
    isLeftOut: sql`execution.status = 'FAILED' or (${sql.join(stuckKinds(outage), sql`) or (`)})`,
  }),
};

/** Returns the workflow and step of executions, by execution id. */
async function readNames(db: Database, ids: readonly string[]): Promise<Map<string, Names>> {
  const rows = await withContactAndStep(
    db.selectFrom('execution').where('execution.id', '=', anyOf(ids)),
  )
    .innerJoin('workflow', 'workflow.id', 'execution.workflow_id')
    .select('workflow.name as current_workflow_name')
    .execute();
  return new Map(
    rows.map((row) => {
      const workflow = { id: row.workflow_id, name: row.current_workflow_name };
      return [row.id, { workflow, step: row.current_step as Names['step'] }];
    }),
  );
}
