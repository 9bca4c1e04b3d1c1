import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { pauseExecution, resumeExecution } from '../../db/workflows/executions/pausing.ts';
import { findSkipped, skipStep } from '../../db/transactions/executions/skip-step.ts';
import {
  farthestMs,
  lockWaits,
  movedEnd,
  moveWaits,
} from '../../db/workflows/executions/wait-moves.ts';
import { findExecution } from '../../db/workflows/executions/executions.ts';
import { listStepExecutions } from '../../db/workflows/executions/steps.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { found, invalidField, Problem, whenRight, fault } from '../../domain/errors.ts';
import { endpoint } from '../http/endpoint.ts';
import { Moment, named, addFault } from '../http/schemas.ts';
import {
  Execution,
  executionExample,
  presentExecution,
  presentStepExecution,
  StepExecution,
} from './record.ts';
import { ExecutionById, stepsOf } from './executions.ts';

/** Actions of operators on one execution. */

const pausedExample = {
  ...executionExample,
  pausedAt: '2026-11-21T08:31:00.000Z',
  pauseReason: 'The receiver is down',
};

const pauseOneExecution = endpoint({
  id: 'pauseExecution',
  method: 'POST',
  path: '/workflows/{id}/executions/{executionId}/pause',
  summary: 'Pause an active execution',
  description:
    'No step begins until `resume`; a running step ends first. Timers continue and events ' +
    'end waits, but the next step does not begin. `status` stays RUNNING or WAITING.',
  access: 'secret',
  params: ExecutionById,
  body: z.object({ reason: z.string().max(200).optional() }),
  response: Execution,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'EXECUTION_NOT_FOUND',
    'EXECUTION_NOT_ACTIVE',
    'EXECUTION_PAUSED',
  ],
  example: { body: { reason: 'The receiver is down' }, response: pausedExample },
  async handle({ db, caller, keyUse, params: { id, executionId }, body }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    return transact(db, async (tx) => {
      const record = await presentExecution(
        tx,
        await pauseExecution(tx, executionId, body.reason ?? null),
        caller.project,
      );
      await keyUse?.completeIn(tx, record);
      return record;
    });
  },
});

const resumeOneExecution = endpoint({
  id: 'resumeExecution',
  method: 'POST',
  path: '/workflows/{id}/executions/{executionId}/resume',
  summary: 'Resume a paused execution',
  description: 'If its workflow is paused, it is still held.',
  access: 'secret',
  params: ExecutionById,
  response: Execution,
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND', 'EXECUTION_NOT_PAUSED'],
  example: { response: executionExample },
  async handle({ db, caller, keyUse, params: { id, executionId } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    return transact(db, async (tx) => {
      const resumed = await resumeExecution(tx, executionId);
      const record = await presentExecution(tx, resumed, caller.project);
      await keyUse?.completeIn(tx, record);
      return record;
    });
  },
});

const skipCurrentStep = endpoint({
  id: 'skipStep',
  method: 'POST',
  path: '/workflows/{id}/executions/{executionId}/skip',
  summary: 'Skip the step at which an execution waits or has failed',
  description:
    'The step becomes SKIPPED and the execution continues after it. If the step branches, ' +
    '`branch` is required: `event`, `timeout`, `yes`, `no`, `default` or the id of a branch. ' +
    'EXECUTION_NOT_SKIPPABLE: a step is running, or the execution has ended without a ' +
    'failure. EXECUTION_EXISTS: it has failed, and the contact has another active one.',
  access: 'secret',
  params: ExecutionById,
  body: z.object({ branch: z.string().max(200).optional() }),
  response: Execution,
  problems: [
    'WORKFLOW_NOT_FOUND',
    'EXECUTION_NOT_FOUND',
    'EXECUTION_NOT_SKIPPABLE',
    'EXECUTION_EXISTS',
  ],
  example: { body: { branch: 'event' }, response: executionExample },
  async checkBeside({ db, caller, params: { id, executionId }, body: { branch = null } }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    const execution = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    await findSkipped(db, execution, branch);
  },
  async handle({ db, caller, dispatcher, keyUse, params: { id, executionId }, body }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const { projectId } = caller;
    const branch = body.branch ?? null;
    const { row, hasFailed } = await transact(db, async (tx) => {
      const skipped = await skipStep(tx, { id: executionId, projectId, branch });
      // The response is stored in the same transaction, so that a repeated request does not skip
      // another step.
      await keyUse?.completeIn(tx, await presentExecution(tx, skipped.row, caller.project));
      return skipped;
    });
    if (!hasFailed || row.status !== 'RUNNING') return presentExecution(db, row, caller.project);
    // The response contains the new run. If Temporal is unavailable, the run is started later.
    const runId = await dispatcher.startNow(executionId);
    return presentExecution(db, { ...row, temporal_run_id: runId }, caller.project);
  },
});

/** Maximum shift in seconds: 10 years. */
const shiftSecondsMax = 10 * 365 * 86_400;

/** The fields of a request that set or move the end of a wait. */
export const waitMoveFields = {
  until: Moment.refine(
    (until) => until.getTime() <= Date.now() + farthestMs,
    fault('too_big', 'Must be at most 100 years in the future.'),
  ).optional(),
  shiftBySeconds: z.int().min(-shiftSecondsMax).max(shiftSecondsMax).optional(),
  forever: z.literal(true).optional().describe('WAIT_FOR_EVENT only: remove the timeout'),
};

type WaitMoveFields = z.output<z.ZodObject<typeof waitMoveFields>>;

const movesOf = ({ until, shiftBySeconds, forever }: WaitMoveFields) => [
  ...(until ? [{ until }] : []),
  ...(shiftBySeconds === undefined ? [] : [{ shiftBySeconds }]),
  ...(forever ? [{ forever }] : []),
];

/** Arguments of a refinement that requires exactly one of the fields. */
export const oneMove = [
  (body: WaitMoveFields, context: z.core.$RefinementCtx) => {
    const [move, second] = movesOf(body);
    if (move && !second) return;
    const message = 'Send exactly one of `until`, `shiftBySeconds` and `forever`.';
    const [field = 'until'] = Object.keys(second ?? {});
    addFault(context, move ? 'not_allowed' : 'required', message, [field]);
  },
  whenRight(...Object.keys(waitMoveFields)),
] as const;

/** Returns the move for the field that is set. */
export function waitMoveOf(body: WaitMoveFields) {
  const [move] = movesOf(body);
  if (!move)
    throw new Error(
      'Unexpected request: the schema requires `until`, `shiftBySeconds` or `forever`.',
    );
  return move;
}

export const moveWait = endpoint({
  id: 'moveWait',
  method: 'PATCH',
  path: '/workflows/{id}/executions/{executionId}/wait',
  summary: "Move the end of an execution's current delay or wait",
  description:
    'Exactly one field is required. An end in the past ends it at once: a delay is over, a ' +
    'wait for an event times out, a digest closes. EXECUTION_NOT_WAITING: it is not in a delay or wait, or ' +
    'its event has arrived.',
  access: 'secret',
  params: ExecutionById,
  body: z.object(waitMoveFields).superRefine(...oneMove),
  response: named('MovedExecution', {
    ...Execution.shape,
    stepExecutions: z.array(StepExecution),
  }),
  problems: ['WORKFLOW_NOT_FOUND', 'EXECUTION_NOT_FOUND', 'EXECUTION_NOT_WAITING'],
  example: {
    body: { shiftBySeconds: -86400 },
    response: { ...executionExample, status: 'WAITING', stepExecutions: [] },
  },
  async handle({ db, caller, params: { id, executionId }, body }) {
    found('WORKFLOW', id, await findWorkflow(db, caller.projectId, id));
    found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const move = waitMoveOf(body);
    await transact(db, async (tx) => {
      const [wait] = await lockWaits(tx, [executionId]);
      if (!wait) throw new Problem('EXECUTION_NOT_WAITING');
      const until = movedEnd(wait, move);
      if (until === undefined) {
        const field = 'forever' in move ? 'forever' : 'shiftBySeconds';
        const why =
          'forever' in move
            ? 'A delay or digest cannot last for ever. Send `until` or `shiftBySeconds`.'
            : wait.until === null
              ? 'This wait has no end yet, so it cannot be shifted. Send `until`.'
              : 'The wait would end more than 100 years from now. Send a smaller `shiftBySeconds`.';
        throw invalidField(field, 'not_allowed', why);
      }
      await moveWaits(tx, [{ executionId, until }]);
    });
    const moved = found('EXECUTION', executionId, await findExecution(db, id, executionId));
    const steps = await listStepExecutions(db, executionId);
    return {
      ...(await presentExecution(db, moved, caller.project)),
      stepExecutions: steps.map((step) => presentStepExecution(step, stepsOf(moved))),
    };
  },
});

export const actEndpoints = [pauseOneExecution, resumeOneExecution, skipCurrentStep, moveWait];
