import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { listPinned, type StepUse, withPinned } from './pinned.ts';
import { openCampaignStatuses } from '../../../domain/campaign/campaign.ts';

/** Finds the users of a topic or template, which cannot be deleted while it has any. */

export interface TopicUses {
  templates: { id: string; name: string }[];
  campaigns: { id: string; name: string; status: string }[];
  workflowSteps: StepUse[];
}

/**
 * Lists the users of a topic that the caller has locked: steps as edited, or in a version with
 * active executions.
 */
export async function listTopicUses(
  tx: Database,
  projectId: string,
  id: string,
): Promise<TopicUses> {
  const templates = await tx
    .selectFrom('template')
    .select(['id', 'name'])
    .where('project_id', '=', projectId)
    .where('topic_id', '=', id)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const campaigns = await tx
    .selectFrom('campaign')
    .select(['id', 'name', 'status'])
    .where('project_id', '=', projectId)
    .where('topic_id', '=', id)
    .where('status', 'in', openCampaignStatuses)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const drawn = await tx
    .selectFrom('workflow_step as step')
    .innerJoin('workflow', 'workflow.id', 'step.workflow_id')
    .select(['step.id as id', 'step.name as name'])
    .select(['workflow.id as workflowId', 'workflow.name as workflowName'])
    .where('step.project_id', '=', projectId)
    .where(stepTopic('step'), '=', id)
    .orderBy('step.created_at')
    .orderBy('step.id')
    .execute();
  const pinned = await listPinned(tx, projectId, [id]);
  const workflowSteps = withPinned(drawn, pinned, ({ config }) => config['topicId'] === id);
  return { templates, campaigns, workflowSteps };
}

/**
 * SQL of the topic in a step's config, which equals the expression of the index
 * `workflow_step_topic`.
 */
function stepTopic(step: string): RawBuilder<string | null> {
  return sql<string | null>`${sql.ref(`${step}.config`)} ->> 'topicId'`;
}

/**
 * Lists the workflow steps that use any of the templates, as edited (oldest first), or in a version
 * with active executions.
 */
export async function listTemplateSteps(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<StepUse[]> {
  const drawn = await db
    .selectFrom('workflow_step as step')
    .innerJoin('workflow', 'workflow.id', 'step.workflow_id')
    .select([
      'step.id as id',
      'step.name as name',
      'workflow.id as workflowId',
      'workflow.name as workflowName',
    ])
    .where('step.template_id', '=', anyOf(ids))
    .orderBy('step.created_at')
    .orderBy('step.id')
    .execute();
  const pinned = await listPinned(db, projectId, ids);
  return withPinned(
    drawn,
    pinned,
    ({ templateId }) => templateId !== null && ids.includes(templateId),
  );
}
