import { v7 as uuidV7 } from 'uuid';
import { findContact } from '../../db/contacts/contacts.ts';
import type { Database } from '../../db/database.ts';
import { endExecution } from '../../db/workflows/executions.ts';
import { graphReader } from '../../db/workflows/graphs.ts';
import {
  completeDelay,
  completeStep,
  mergeExecutionContext,
  type StepVisit,
  updateExecutionWaiting,
} from '../../db/workflows/steps.ts';
import { type MatchedEvent, registerWait, settleWait } from '../../db/workflows/waits.ts';
import { evaluateStepCondition } from '../../domain/filter/step.ts';
import { waitOutcome } from '../../domain/workflow/decide.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import type { PerformedType } from '../../domain/workflow/step-types.ts';
import { delayUnitMs, type StepConfig } from '../../domain/workflow/steps.ts';
import {
  finishStep,
  performCalled,
  performStep,
  StepFailure,
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
  (call: StepCallById | StepCall) => Promise<StepResult>
> {
  SETTLE_WAIT(call: StepCallById | StepCall): Promise<StepResult>;
  COMPLETE(executionId: string): Promise<void>;
}

export interface StepServices extends WebhookServices, SendEmailServices {}

/**
 * The activities of the steps. Each is one transaction and may be repeated.
 * @param webhookSlots concurrent webhook calls of all projects together.
 */
export function createStepActivities(services: StepServices, webhookSlots: number): StepActivities {
  const { db } = services;
  const findGraph = graphReader(db);
  const called =
    (perform: (call: StepCall) => Promise<StepResult>) => (call: StepCallById | StepCall) =>
      performCalled(findGraph, call, perform);
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
    SETTLE_WAIT: called((call) => performStep(db, call, settle)),
    UPDATE_CONTACT: called(async (call) => {
      const newId = uuidV7();
      return renderAhead(services.renderer, (renderer) => {
        const update: StepEffect = async (tx, visit) => {
          if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
          const known = { ...services, renderer };
          const output = await updateContactOfStep(tx, known, call.step, visit);
          return finishStep(tx, visit, call, output);
        };
        return performStep(db, call, update, newId);
      });
    }),
    CONDITION: called((call) => performStep(db, call, decideCondition)),
    WEBHOOK: called(createWebhookCalls(services, webhookSlots)),
    EXIT: called((call) => performStep(db, call, exit)),
    async COMPLETE(executionId) {
      await endExecution(db, executionId, { status: 'COMPLETED' });
    },
  };
}

const delay: StepEffect = async (tx, visit, call) => {
  const { amount, unit } = call.step.config as StepConfig<'DELAY'>;
  const resumeAt = new Date(visit.stepExecution.started_at.getTime() + amount * delayUnitMs[unit]);
  const until = resumeAt.toISOString();
  if (visit.completedAt) return { outcome: { kind: 'resting', until } };
  await completeDelay(tx, visit, {
    output: { delayAmount: amount, delayUnit: unit, resumeAt: until },
    nextStepId: call.nextStepId,
    resumeAt,
  });
  return { outcome: { kind: 'resting', until } };
};

const waitForEvent: StepEffect = async (tx, visit, call) => {
  if (visit.completedAt) return settledResult(visit, visit.completedAt);
  const { eventName, timeout } = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
  const expiresAt =
    timeout === undefined
      ? null
      : new Date(visit.stepExecution.started_at.getTime() + timeout * 1000);
  const event = await registerWait(tx, visit, { eventName, since: call.since, expiresAt });
  if (event) return endWait(tx, visit, eventName, event);
  await updateExecutionWaiting(tx, call.executionId, expiresAt);
  return { outcome: { kind: 'waiting', until: expiresAt?.toISOString() ?? null } };
};

const settle: StepEffect = async (tx, visit, call) => {
  if (visit.completedAt) return settledResult(visit, visit.completedAt);
  const { eventName } = call.step.config as StepConfig<'WAIT_FOR_EVENT'>;
  const settled = await settleWait(tx, visit.stepExecution.id);
  if ('event' in settled) return endWait(tx, visit, eventName, settled.event);
  await updateExecutionWaiting(tx, call.executionId, settled.until);
  return { outcome: { kind: 'waiting', until: settled.until?.toISOString() ?? null } };
};

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

const exit: StepEffect = async (tx, visit, call) => {
  const reason = (call.step.config as StepConfig<'EXIT'>).reason || 'exit_step';
  await Promise.all([
    completeStep(tx, visit.stepExecution.id, { exited: true, reason }),
    endExecution(tx, call.executionId, { status: 'EXITED', reason }),
  ]);
  return { outcome: { kind: 'exited' } };
};

/** Ends a waiting step, by its event, whose data is added to the context, or by its timeout. */
async function endWait(
  tx: Database,
  visit: StepVisit,
  eventName: string,
  event: MatchedEvent | null,
): Promise<StepResult> {
  if (!event) {
    const output = { waitOutcome: 'TIMEOUT', timedOut: true, eventName };
    const since = await completeStep(tx, visit.stepExecution.id, output);
    return { outcome: waitOutcome('TIMEOUT'), since };
  }
  if (event.data) await mergeExecutionContext(tx, visit.execution.id, event.data);
  const since = await completeStep(tx, visit.stepExecution.id, {
    waitOutcome: 'EVENT',
    eventReceived: true,
    eventName,
    ...(event.data ? { eventData: event.data } : {}),
    receivedAt: event.createdAt.toISOString(),
  });
  return { outcome: waitOutcome('EVENT'), since };
}

function settledResult({ stepExecution }: StepVisit, since: string): StepResult {
  const output = stepExecution.output as { waitOutcome: 'EVENT' | 'TIMEOUT' };
  return { outcome: waitOutcome(output.waitOutcome), since };
}
