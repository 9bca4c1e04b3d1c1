import { findWorkflow, findWorkflowGraph } from '../../db/workflows/workflows.ts';
import { hasHadStep } from '../../db/workflows/graphs.ts';
import type { Database } from '../../db/database.ts';
import { found } from '../../domain/errors.ts';
import { findStep, type GraphStep } from '../../domain/workflow/graph.ts';
import {
  answerRecipients,
  recipientExample,
  RecipientList,
  recipientQuery,
  recipientsDescription,
} from '../emails/recipients.ts';
import { endpoint } from '../http/endpoint.ts';
import { Uuid } from '../http/schemas.ts';
import { WorkflowById } from './graph/record.ts';

export const listStepRecipients = endpoint({
  id: 'listStepRecipients',
  method: 'GET',
  path: '/workflows/{id}/steps/{stepId}/recipients',
  summary: 'List who was sent the mail of a step, an item for each mail',
  description:
    `${recipientsDescription} The step may be of any version. WORKFLOW_NOT_FOUND, ` +
    'STEP_NOT_FOUND: the project has no such workflow, or none of its versions has the step.',
  access: 'secret',
  params: WorkflowById.extend({ stepId: Uuid }),
  query: recipientQuery,
  response: RecipientList,
  problems: ['WORKFLOW_NOT_FOUND', 'STEP_NOT_FOUND'],
  example: recipientExample,
  async handle({ db, caller: { projectId }, params, query }) {
    await findStepOfAnyVersion(db, projectId, params);
    const scope = { projectId, column: 'workflow_step_id', id: params.stepId } as const;
    return answerRecipients(db, scope, query);
  },
});

/**
 * Returns a step of the current graph; undefined: only earlier versions have it.
 * @throws Problem WORKFLOW_NOT_FOUND, STEP_NOT_FOUND
 */
export async function findStepOfAnyVersion(
  db: Database,
  projectId: string,
  { id, stepId }: { id: string; stepId: string },
): Promise<GraphStep | undefined> {
  found('WORKFLOW', id, await findWorkflow(db, projectId, id));
  const drawn = findStep(await findWorkflowGraph(db, id), stepId);
  const isKnown = drawn !== undefined || (await hasHadStep(db, id, stepId));
  found('STEP', stepId, isKnown || undefined);
  return drawn;
}
