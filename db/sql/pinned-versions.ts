import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import type { ExitRule } from '../../domain/workflow/exit-rules.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';

/**
 * What versions with active executions name, beside the graphs as they are drawn: it must not be deleted while
 * somebody is inside.
 */

/** Users that are listed of each kind. */
export const listedUses = 100;

/**
 * SQL of the steps and exit rules of versions with active executions, as a table `pinned` with `workflow_id`,
 * `workflow_name` and `step` or `rule`. Triggers are left out: whoever is inside has passed them.
 */
export function pinnedParts(projectId: string): RawBuilder<unknown> {
  const next = (from: RawBuilder<unknown>) => sql`(
    select inner_inside.workflow_version from execution inner_inside
      where inner_inside.workflow_id = inner_flow.id
        and inner_inside.status in ('RUNNING', 'WAITING') and ${from}
      order by inner_inside.workflow_version limit 1)`;
  return sql`(
    select inner_flow.id as workflow_id, inner_flow.name as workflow_name,
        inner_flow.created_at, part.step, part.rule
      from workflow inner_flow
      -- One step in the index for each version, not one for each execution.
      cross join lateral (
        with recursive inside(version) as (
          select ${next(sql`true`)}
          union all
          select ${next(sql`inner_inside.workflow_version > inside.version`)} from inside
            where inside.version is not null
        )
        select version from inside where version is not null) inside
      join workflow_version inner_version on inner_version.workflow_id = inner_flow.id
        and inner_version.version = inside.version
      cross join lateral (
        select step, null::jsonb as rule
          from jsonb_array_elements(inner_version.graph -> 'steps') step
          where step ->> 'type' <> 'TRIGGER'
        union all
        select null, rule
          from jsonb_array_elements(coalesce(inner_version.graph -> 'exitRules', '[]')) rule) part
      where inner_flow.project_id = ${projectId}) pinned`;
}

/** A step or an exit rule of a version with active executions. */
export interface PinnedPart {
  workflowId: string;
  workflowName: string;
  step: GraphStep | null;
  rule: ExitRule | null;
}

/** Those of a project with one of these texts in their JSON. Whether they mean it, the caller decides. */
export async function listPinned(
  db: Database,
  projectId: string,
  texts: readonly string[],
): Promise<PinnedPart[]> {
  // As the text of JSON has them, without the quotes.
  const written = texts.map((text) => JSON.stringify(text).slice(1, -1));
  const { rows } = await sql<PinnedPart>`
    select workflow_id as "workflowId", workflow_name as "workflowName", step, rule
      from ${pinnedParts(projectId)}
      where exists (select from unnest(${written}::text[]) as written
        where strpos(coalesce(step, rule)::text, written) > 0)
      order by created_at, workflow_id`.execute(db);
  return rows;
}

/** A step that uses something. */
export interface StepUse {
  id: string;
  name: string;
  workflowId: string;
  workflowName: string;
}

/** The steps as they are drawn, and behind them those that only a version has: each once. */
export function withPinned(
  drawn: readonly StepUse[],
  pinned: readonly PinnedPart[],
  isUse: (step: GraphStep) => boolean,
): StepUse[] {
  const uses = pinned.flatMap(({ step, workflowId, workflowName }) =>
    step && isUse(step) ? [{ id: step.id, name: step.name, workflowId, workflowName }] : [],
  );
  return [...new Map([...drawn, ...uses].map((use) => [use.id, use])).values()];
}
