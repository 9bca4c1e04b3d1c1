import { v7 as uuidV7 } from 'uuid';
import { findContact } from '../../db/contacts/contacts.ts';
import { type Database, transact } from '../../db/database.ts';
import { readSendPolicy } from '../../db/projects/send-policy.ts';
import {
  completeExecution,
  endExecution,
  findExecutionStatus,
} from '../../db/workflows/executions/executions.ts';
import { graphReader } from '../../db/workflows/graphs.ts';
import { listExecutionStarts } from '../../db/workflows/executions/starts.ts';
import {
  completeDelay,
  completeStep,
  leaveWait,
  type StepVisit,
  updateExecutionWaiting,
} from '../../db/workflows/executions/steps.ts';
import { exitWithStep } from '../../db/transactions/executions/fail-step.ts';
import {
  completeWait,
  registerWait,
  settleWait,
  type WaitEnd,
} from '../../db/workflows/executions/waits.ts';
import { evaluateStepCondition } from '../../domain/filter/step.ts';
import { type Interruption, waitOutcome } from '../../domain/workflow/decide.ts';
import type { ExecutionStart } from '../../domain/runs/execution.ts';
import { delayEnd, type DelayScope, fixedDelay } from '../../domain/workflow/steps/delay.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import type { PerformedType, StepConfig } from '../../domain/workflow/steps/registry.ts';
import { exitOf } from '../../domain/workflow/steps/exit.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import { waitEnd, waitOutput } from '../../domain/workflow/steps/wait-for-event.ts';
import {
  finishStep,
  performCalled,
  performStep,
  placeOfCall,
  type StepCall,
  type StepCallById,
  type StepEffect,
  type StepResult,
} from './perform.ts';
import { sendStepEmail, type SendEmailServices } from './send-email.ts';
import { updateContactOfStep } from './update-contact.ts';
import { type WebhookServices, createWebhookCalls } from './webhook.ts';

/**
 * One activity for each performed step type, and two more. Names from the product: operators read
 * them in the Temporal UI.
 */
export interface StepActivities extends Record<
  PerformedType,
  (call: StepCallById) => Promise<StepResult>
> {
  SETTLE_WAIT(call: StepCallById): Promise<StepResult>;
  /** Ends an execution that has no step left in this version, unless somebody has acted on it. */
  COMPLETE(executionId: string, version: number): Promise<Interruption | void>;
  /** Where the row says that an execution goes on. */
  FIND_POSITION(executionId: string): Promise<{ end: ExecutionEnd } | { start: ExecutionStart }>;
}

/** How an execution's run ends: its result in Temporal. */
export type ExecutionEnd = 'COMPLETED' | 'EXITED' | 'CANCELLED';

export interface StepServices extends WebhookServices, SendEmailServices {}

/**
 * The activities of the steps. Each is one transaction and may be repeated.
 * @param webhookSlots concurrent webhook calls of all projects together.
 */
export function createStepActivities(services: StepServices, webhookSlots: number): StepActivities {
  const { db } = services;
  const graphs = { db, findGraph: graphReader(db) };
  const called = (perform: (call: StepCall) => Promise<StepResult>) => (call: StepCallById) =>
    performCalled(graphs, call, perform);
  return {
    SEND_EMAIL: called(async (call) => {
      const emailId = uuidV7();
      return renderAhead(services.renderer, (renderer) =>
        performStep(db, call, async (tx, visit): Promise<StepResult> => {
          if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
          const known = { ...services, renderer };
          return sendStepEmail(tx, known, call.step, visit, emailId, (output) =>
            finishStep(tx, visit, call, output),
          );
        }),
      );
    }),
    DELAY: called((call) => performStep(db, call, delay)),
    WAIT_FOR_EVENT: called((call) => performStep(db, call, waitForEvent)),
    SETTLE_WAIT: called((call) =>
      performStep(db, call, (tx, visit) => settle(tx, visit, call, true)),
    ),
    UPDATE_CONTACT: called(async (call) => {
      const newId = uuidV7();
      return renderAhead(services.renderer, (renderer) => {
        const update: StepEffect = async (tx, visit) => {
          if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
          const known = { ...services, renderer };
          const updated = await updateContactOfStep(tx, known, call.step, visit);
          return finishStep(tx, updated.visit, call, updated.output);
        };
        return performStep(db, call, update, newId);
      });
    }),
    CONDITION: called((call) => performStep(db, call, decideCondition)),
    WEBHOOK: called(createWebhookCalls(services, webhookSlots)),
    EXIT: called((call) => performStep(db, call, exit)),
    async COMPLETE(executionId, version) {
      const isOver = await transact(db, (tx) => completeExecution(tx, executionId, version));
      return isOver ? undefined : { kind: 'elsewhere' };
    },
    async FIND_POSITION(executionId) {
      const [due] = await listExecutionStarts(db, [executionId], graphs.findGraph);
      if (due && !due.hasEnded) return { start: due.start };
      const status = await findExecutionStatus(db, executionId);
      return { end: status === 'COMPLETED' || status === 'EXITED' ? status : 'CANCELLED' };
    },
  };
}

const delay: StepEffect = async (tx, visit, call) => {
  if (visit.completedAt) {
    // Where somebody has moved its end, the output says so.
    const { resumeAt } = visit.stepExecution.output as { resumeAt: string | null };
    // Its date was past.
    if (resumeAt === null) return { outcome: { kind: 'done' }, since: visit.completedAt };
    await updateExecutionWaiting(tx, placeOfCall(call), new Date(resumeAt));
    return { outcome: { kind: 'resting', until: resumeAt } };
  }
  const config = call.step.config as StepConfig<'DELAY'>;
  const rest = fixedDelay(config) ?? delayEnd(config, await delayScope(tx, visit));
  if ('kind' in rest && rest.kind === 'past') {
    const { exitReason: reason, output } = rest;
    if (reason !== null) return exitWith(tx, visit, { reason, output });
    return finishStep(tx, visit, call, output);
  }
  const place = { stepId: call.step.id, nextStepId: call.nextStepId };
  const until = await completeDelay(tx, visit.execution, place, rest);
  return { outcome: { kind: 'resting', until: until.toISOString() } };
};

/** What a delay until a time or a date is counted from, as the step begins. */
async function delayScope(tx: Database, visit: StepVisit): Promise<DelayScope> {
  const { project_id: projectId, contact_id: contactId } = visit.execution;
  const contact = await findContact(tx, projectId, contactId);
  if (!contact) throw new StepFailure('The contact no longer exists.');
  return {
    beganAt: visit.stepExecution.started_at,
    now: visit.stepExecution.started_at,
    contact: { ...contact, createdAt: contact.created_at, updatedAt: contact.updated_at },
    context: visit.execution.context as Record<string, unknown> | null,
    zones: await readSendPolicy(tx, projectId),
  };
}

const waitForEvent: StepEffect = async (tx, visit, call) => {
  if (visit.completedAt) return settledResult(visit, visit.completedAt);
  // Its run begins again here, or somebody has moved its end.
  if (visit.stepExecution.status === 'WAITING') return settle(tx, visit, call, false);
  const config = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
  const { eventName } = config;
  const expiresAt = waitEnd(config, visit.stepExecution.started_at);
  const event = await registerWait(tx, visit, { eventName, since: call.since, expiresAt });
  if (event) return endWait(tx, visit, eventName, { event });
  // Met while the step was to be tried again.
  if (await exitWithStep(tx, visit)) return { outcome: { kind: 'exited' } };
  await updateExecutionWaiting(tx, placeOfCall(call), expiresAt);
  return { outcome: { kind: 'waiting', until: expiresAt?.toISOString() ?? null } };
};

/** @param isOver the run says that the time of the wait is over */
async function settle(
  tx: Database,
  visit: StepVisit,
  call: StepCall,
  isOver: boolean,
): Promise<StepResult> {
  if (visit.completedAt) return settledResult(visit, visit.completedAt);
  const { eventName } = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
  const settled = await settleWait(tx, visit.stepExecution.id, isOver);
  if ('event' in settled) return endWait(tx, visit, eventName, settled);
  // One that is retried is running until then.
  await updateExecutionWaiting(tx, placeOfCall(call), settled.until);
  return { outcome: { kind: 'waiting', until: settled.until?.toISOString() ?? null } };
}

const decideCondition: StepEffect = async (tx, visit, call) => {
  if (visit.completedAt) {
    const { branch } = visit.stepExecution.output as { branch: string };
    return { outcome: { kind: 'branch', branch }, since: visit.completedAt };
  }
  const { execution, stepExecution } = visit;
  const contact = await findContact(tx, execution.project_id, execution.contact_id);
  if (!contact) throw new StepFailure('The contact no longer exists.');
  const decision = evaluateStepCondition(call.step.config as StepConfig<'CONDITION'>, {
    contact: { ...contact, createdAt: contact.created_at, updatedAt: contact.updated_at },
    context: execution.context as Record<string, unknown> | null,
  });
  const since = await completeStep(tx, stepExecution.id, { ...decision });
  return { outcome: { kind: 'branch', branch: decision.branch }, since };
};

const exit: StepEffect = (tx, visit, call) => exitWith(tx, visit, exitOf(call.step.config));

/** Completes a step, and ends its execution by it. */
async function exitWith(
  tx: Database,
  { execution, stepExecution }: StepVisit,
  { reason, output }: { reason: string; output: Record<string, unknown> },
): Promise<StepResult> {
  await Promise.all([
    completeStep(tx, stepExecution.id, output),
    endExecution(tx, execution.id, { status: 'EXITED', reason }),
  ]);
  return { outcome: { kind: 'exited' } };
}

/** Ends a waiting step, by its event, whose data is added to the context, or by its timeout. */
async function endWait(
  tx: Database,
  visit: StepVisit,
  eventName: string,
  end: WaitEnd,
): Promise<StepResult> {
  const { event } = end;
  await leaveWait(tx, visit.execution.id, event?.data ?? null);
  const ended = event && { data: event.data, at: event.createdAt };
  const output = waitOutput(eventName, ended);
  const since = await completeWait(tx, visit.stepExecution.id, output, end);
  return { outcome: waitOutcome(event ? 'EVENT' : 'TIMEOUT'), since };
}

function settledResult({ stepExecution }: StepVisit, since: string): StepResult {
  const output = stepExecution.output as { waitOutcome: 'EVENT' | 'TIMEOUT' };
  return { outcome: waitOutcome(output.waitOutcome), since };
}
