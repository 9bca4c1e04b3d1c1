import type { Database } from '../../database.ts';
import { listStepExecutions, type StepExecutionRow } from './steps.ts';
import type { ExecutionState } from '../../../domain/picture/graph-picture.ts';
import type { Graph } from '../../../domain/workflow/graph.ts';
import { graphAfter, type StoredGraph } from '../../../domain/workflow/versions/difference.ts';

export interface KnownExecution {
  projectId: string;
  workflowId: string;
  contactId: string;
  key: string | null;
  /** Id of the execution's newest run in Temporal; null: none was started. */
  runId: string | null;
  context: Record<string, unknown> | null;
  graph: Graph;
  state: ExecutionState;
  stepExecutions: StepExecutionRow[];
}

/**
 * Finds an execution with its graph and its steps, oldest first.
 * @param workflowId the workflow of the execution; undefined: any.
 */
export async function findExecutionState(
  db: Database,
  executionId: string,
  workflowId?: string,
): Promise<KnownExecution | undefined> {
  const row = await db
    .selectFrom('execution')
    .innerJoin('workflow', 'workflow.id', 'execution.workflow_id')
    .innerJoin('workflow_graph as version', (join) =>
      join
        .onRef('version.workflow_id', '=', 'execution.workflow_id')
        .onRef('version.version', '=', 'execution.workflow_version'),
    )
    .select([
      'execution.project_id',
      'execution.workflow_id',
      'execution.contact_id',
      'execution.key',
      'execution.temporal_run_id',
      'execution.context',
      'execution.workflow_name',
      'execution.workflow_version',
      'execution.status',
      'execution.current_step_id',
      'execution.error',
      'execution.exit_reason',
      'execution.started_at',
      'execution.completed_at',
      'execution.paused_at',
      'execution.held_at',
      'workflow.paused_at as workflow_paused_at',
      'version.whole',
      'version.difference',
    ])
    .where('execution.id', '=', executionId)
    .$if(workflowId !== undefined, (query) =>
      query.where('execution.workflow_id', '=', workflowId ?? ''),
    )
    .executeTakeFirst();
  if (!row) return undefined;
  const stepExecutions = await listStepExecutions(db, executionId);
  const isPaused = row.paused_at ?? row.held_at ?? row.workflow_paused_at;
  return {
    projectId: row.project_id,
    workflowId: row.workflow_id,
    contactId: row.contact_id,
    key: row.key,
    runId: row.temporal_run_id,
    context: row.context as Record<string, unknown> | null,
    graph: graphAfter(row as unknown as StoredGraph<Graph>),
    state: {
      workflowName: row.workflow_name,
      version: row.workflow_version,
      status: row.status,
      currentStepId: row.current_step_id,
      isPaused: isPaused !== null && row.completed_at === null,
      error: row.error,
      exitReason: row.exit_reason,
      startedAt: row.started_at,
      completedAt: row.completed_at,
      steps: stepExecutions.map((step) => ({
        stepId: step.step_id,
        status: step.status,
        startedAt: step.started_at,
        completedAt: step.completed_at,
        scheduledFor: step.scheduled_for,
        executeAfter: step.execute_after,
        output: step.output as Record<string, unknown> | null,
        error: step.error,
      })),
    },
    stepExecutions,
  };
}
