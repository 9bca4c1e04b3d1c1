import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { pinnedParts } from '../../sql/pinned-versions.ts';

/** An object that names a template, segment or topic. */
export interface Referrer {
  /** Id of the template, segment or topic. */
  targetId: string;
  kind: 'workflow' | 'template' | 'segment' | 'consent-policy';
  /** The key of its file; null: it has none yet. */
  key: string | null;
  /** Number of active executions; 0 for other objects than workflows. */
  active: number;
}

/**
 * Lists the workflows, templates and segments that name any of these templates, segments and topics,
 * and the consent policy. A workflow names an object in its trigger or a step, or in those of a
 * version with active executions.
 */
export async function listReferrers(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<Referrer[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<Referrer>`
    with naming as (
      select named.id as target_id, step.workflow_id
        from workflow_step step, ${idsIn(sql`step.config`)} named
        where step.project_id = ${projectId} and named.id = any(${ids}::uuid[])
      union
      select template_id, workflow_id from workflow_step
        where project_id = ${projectId} and template_id = any(${ids}::uuid[])
      union
      select named.id, workflow.id
        from workflow, ${idsIn(sql`workflow.trigger_schedule`)} named
        where workflow.project_id = ${projectId} and named.id = any(${ids}::uuid[])
      union
      select named.id, pinned.workflow_id
        from ${pinnedParts(projectId)}, ${idsIn(sql`coalesce(pinned.step, pinned.rule)`)} named
        where named.id = any(${ids}::uuid[])
    ), inside as (
      select workflow.id, workflow.file_key as key,
          (select count(*)::int from execution where execution.workflow_id = workflow.id
            and execution.status in ('RUNNING', 'WAITING')) as active
        from workflow where workflow.id in (select workflow_id from naming)
    )
    select target_id as "targetId", 'workflow' as kind, inside.key, inside.active
      from naming join inside on inside.id = naming.workflow_id
    union all
    select topic_id, 'template', file_key, 0 from template
      where project_id = ${projectId} and topic_id = any(${ids}::uuid[])
    union
    select named.id, 'segment', segment.file_key, 0
      from segment, ${idsIn(sql`segment.condition`)} named
      where segment.project_id = ${projectId} and named.id = any(${ids}::uuid[])
    union all
    select opt_in_template_id, 'consent-policy', 'consent', 0 from project
      where id = ${projectId} and opt_in_template_id = any(${ids}::uuid[])
    order by kind, key`.execute(db);
  return rows;
}

/** SQL of the ids that a JSON value contains, as a table with the column `id`. */
function idsIn(json: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`lateral (select distinct inner_found.matched[1]::uuid as id
    from regexp_matches(${json}::text,
      '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', 'g')
      as inner_found(matched))`;
}
