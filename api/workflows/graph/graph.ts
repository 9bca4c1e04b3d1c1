import { z } from 'zod';
import { type Database, transact } from '../../../db/database.ts';
import {
  type WorkflowRow,
  deleteTransition as deleteTransitionRow,
  findWorkflow,
  findWorkflowGraph,
  insertTransition,
  listTransitions,
  lockWorkflows,
} from '../../../db/workflows/workflows.ts';
import { recordWorkflowEdit } from '../../../db/workflows/versions.ts';
import { jsonBytes } from '../../../domain/contact/data.ts';
import { Problem, found, invalidField, notFound } from '../../../domain/errors.ts';
import { type Graph, type GraphStep, findStep } from '../../../domain/workflow/graph.ts';
import { transitionFault } from '../../../domain/workflow/graph-rules.ts';
import { waitBranches } from '../../../domain/workflow/steps/step.ts';
import { limits } from '../../../domain/limits.ts';
import { actorOf, type ProjectCaller } from '../../access/caller.ts';
import type { NotedEvent, SecurityLog } from '../../access/security-log.ts';
import { endpoint } from '../../http/endpoint.ts';
import { Uuid } from '../../http/schemas.ts';
import { noteWorkflowChange } from './noting.ts';
import { Transition, WorkflowById, presentTransition, transitionExample } from './record.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';
import { chosenBranch, TransitionInput } from './transition-input.ts';

/**
 * A workflow that is being edited. The row of the workflow is locked, so no other request changes
 * its graph.
 */
export interface Edit {
  tx: Database;
  workflow: WorkflowRow;
  graph: Graph;
}

export interface Edited<T> {
  /** True: the edit creates a new version. */
  changed: boolean;
  answer: T;
  /** The workflow after a change of settings that do not belong to a version. */
  settled?: WorkflowRow | undefined;
  /** For the security log. */
  noted?: Pick<NotedEvent, 'changes' | 'details'>;
}

interface EditCall {
  db: Database;
  caller: ProjectCaller;
  note: SecurityLog['note'];
  params: { id: string };
  keyUse: { completeIn: (tx: Database, data: unknown) => Promise<void> } | null;
}

/**
 * Makes an edit of a graph. If the edit changes anything, it creates a new version.
 * @throws Problem WORKFLOW_NOT_FOUND; VALIDATION_ERROR when the graph becomes too large.
 */
export async function editGraph<T>(
  call: EditCall,
  edit: (edit: Edit) => Promise<Edited<T>>,
): Promise<T> {
  return (await recordEdit(call, edit)).answer;
}

/** Makes an edit like `editGraph`, and also returns the workflow after the edit. */
export async function recordEdit<T>(
  call: EditCall,
  edit: (edit: Edit) => Promise<Edited<T>>,
): Promise<{ answer: T; workflow: WorkflowRow }> {
  const { id } = call.params;
  return transact(call.db, async (tx) => {
    const [row] = await lockWorkflows(tx, call.caller.projectId, [id], { for: 'edit' });
    const workflow = found('WORKFLOW', id, row);
    const graph = await findWorkflowGraph(tx, id);
    const { changed, answer, settled = workflow, noted } = await edit({ tx, workflow, graph });
    if (changed) await refuseTooLarge(tx, id);
    const after = changed
      ? await recordWorkflowEdit(tx, workflow, { causedBy: actorOf(call.caller) })
      : settled;
    await noteWorkflowChange(call, tx, { before: workflow, after }, noted);
    // The response is stored in the same transaction, so that a repeated request does not add a
    // second step.
    await call.keyUse?.completeIn(tx, answer);
    return { answer, workflow: after };
  });
}

/**
 * Refuses a graph that has become too large.
 * @throws Problem VALIDATION_ERROR
 */
export async function refuseTooLarge(tx: Database, id: string): Promise<void> {
  requireGraphSize(await findWorkflowGraph(tx, id), '');
}

/**
 * Refuses a graph that is too large.
 * @throws Problem VALIDATION_ERROR
 */
export function requireGraphSize(graph: Graph, field: string): void {
  const bytes = jsonBytes(graph);
  if (bytes <= limits.graphBytes) return;
  const message = `The workflow has ${bytes} bytes as JSON, but may have at most ${limits.graphBytes}. Remove or shorten steps.`;
  throw invalidField(field, 'too_big', message);
}

export const createTransition = endpoint({
  id: 'createTransition',
  method: 'POST',
  path: '/workflows/{id}/transitions',
  summary: 'Add a transition from one step to another',
  description:
    'A CONDITION or SPLIT needs a branch; after WAIT_FOR_EVENT the outcome is EVENT or ' +
    'TIMEOUT, or is left out for both. Adding an existing transition without a branch again ' +
    'returns it. The other errors name the graph rule that it would break.',
  access: 'secret',
  status: 201,
  params: WorkflowById,
  body: TransitionInput,
  response: Transition,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'STEP_NOT_FOUND',
    'TRANSITION_SELF',
    'TRANSITION_FROM_EXIT',
    'TRANSITION_TO_TRIGGER',
    'TRANSITION_EXISTS',
    'TRANSITION_BRANCH_EXISTS',
    'TRANSITION_LOOP',
  ],
  example: {
    body: {
      fromStepId: transitionExample.fromStepId,
      toStepId: transitionExample.toStepId,
      condition: { branch: 'yes' },
    },
    response: { ...transitionExample, condition: { branch: 'yes' }, branch: 'yes' },
  },
  async checkBeside({ db, caller, params: { id }, body }, wrong) {
    const isBranchWrong = ['condition', 'branch', 'waitOutcome'].some((name) => wrong.has(name));
    if (body.fromStepId === undefined || isBranchWrong) return;
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const from = findStep(await findWorkflowGraph(db, id), body.fromStepId);
    chosenBranch(found('STEP', body.fromStepId, from), body);
  },
  async handle(call) {
    const { body } = call;
    return editGraph(call, async ({ tx, workflow, graph }) => {
      const from = found('STEP', body.fromStepId, findStep(graph, body.fromStepId));
      const to = found('STEP', body.toStepId, findStep(graph, body.toStepId));
      const branch = chosenBranch(from, body);
      // A transition without a branch may be requested again, because `autoConnect` may have
      // created it.
      const existing = (await listTransitions(tx, workflow.id)).find(
        (row) => row.from_step_id === from.id && row.to_step_id === to.id && row.branch === null,
      );
      if (existing && branch === null) {
        return { changed: false, answer: presentTransition(existing) };
      }
      const code = transitionFault(graph, from, to, branch);
      if (code) throw new Problem(code);
      const row = await insertTransition(tx, {
        project_id: workflow.project_id,
        workflow_id: workflow.id,
        from_step_id: from.id,
        to_step_id: to.id,
        branch,
        wait_outcome: outcomeOf(from, branch),
        priority: body.priority,
      });
      const noted = { details: { transitionId: row.id } };
      return { changed: true, answer: presentTransition(row), noted };
    });
  },
});

/**
 * Returns the outcome that is stored with a branch; null: `from` is no wait, or the transition is
 * for both outcomes.
 */
export function outcomeOf(from: GraphStep, branch: string | null): string | null {
  if (stepModules[from.type].ways !== 'outcomes') return null;
  return branch === null ? null : branch === waitBranches.EVENT ? 'EVENT' : 'TIMEOUT';
}

export const TransitionById = WorkflowById.extend({ transitionId: Uuid });

export const deleteTransition = endpoint({
  id: 'deleteTransition',
  method: 'DELETE',
  path: '/workflows/{id}/transitions/{transitionId}',
  summary: 'Remove a transition',
  description: 'The two steps that it connects stay.',
  access: 'secret',
  status: 204,
  params: TransitionById,
  response: z.void(),
  problems: ['WORKFLOW_NOT_FOUND', 'TRANSITION_NOT_FOUND'],
  async handle(call) {
    const { transitionId } = call.params;
    await editGraph(call, async ({ tx, graph }) => {
      if (!graph.transitions.some(({ id }) => id === transitionId)) {
        throw notFound('TRANSITION', transitionId);
      }
      await deleteTransitionRow(tx, transitionId);
      return { changed: true, answer: undefined, noted: { details: { transitionId } } };
    });
  },
});

export const transitionEndpoints = [createTransition, deleteTransition];
