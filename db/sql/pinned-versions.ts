import { type RawBuilder, sql } from 'kysely';

/**
 * Finds the parts of versions with active executions. These parts may name secrets, templates and
 * other objects that the current graphs of workflows no longer have. Such objects must not be
 * deleted while an execution may use them.
 */

/**
 * SQL that selects the steps and exit rules of versions with active executions, as a table `pinned`
 * with `workflow_id`, `workflow_name` and `step` or `rule`. Triggers are left out, because active
 * executions have passed them.
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
      -- One index lookup per version, not one per execution.
      cross join lateral (
        with recursive inside(version) as (
          select ${next(sql`true`)}
          union all
          select ${next(sql`inner_inside.workflow_version > inside.version`)} from inside
            where inside.version is not null
        )
        select version from inside where version is not null) inside
      join workflow_graph inner_version on inner_version.workflow_id = inner_flow.id
        and inner_version.version = inside.version
      cross join lateral (
        select step, null::jsonb as rule
          from graph_steps(inner_version.whole, inner_version.difference) step
          where step ->> 'type' <> 'TRIGGER'
        union all
        select null, rule
          from jsonb_array_elements(coalesce(
            coalesce(inner_version.difference, inner_version.whole) -> 'exitRules', '[]')) rule) part
      where inner_flow.project_id = ${projectId}) pinned`;
}
