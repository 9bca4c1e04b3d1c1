import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { Database } from '../db/database.ts';
import type { Seal } from '../db/sealed.ts';
import { completeLateStep, postponeStep, type StepVisit } from '../db/step-executions.ts';
import type { StepConfig } from '../domain/steps.ts';
import {
  buildWebhook,
  retryAfterAttempt,
  type WebhookOutcome,
  webhookSources,
  webhookOutput,
} from '../domain/webhook.ts';
import type { Renderer } from '../domain/render.ts';
import type { WebhookAttempt, WebhookSender } from '../providers/webhook.ts';
import { createBulkhead } from './bulkhead.ts';
import { finishStep, performStep, type StepCall, StepFailure, type StepResult } from './perform.ts';
import { stepScope } from './scope.ts';

export interface WebhookServices {
  db: Database;
  apiUrl: string;
  seal: Seal;
  renderer: Renderer;
  webhooks: WebhookSender;
  webhookAttemptsMax: number;
}

/** A request ready to be sent; it was sent `earlier` times before. */
interface Ready {
  request: WebhookAttempt;
  earlier: number;
}

/**
 * Calls the webhooks of steps, in at most so many slots. A project whose receivers hang has only
 * its share of them: what is beyond that is given back to Temporal, and called in its turn.
 */
export function createWebhookCalls(
  services: WebhookServices,
  slots: number,
): (call: StepCall) => Promise<StepResult> {
  const bulkhead = createBulkhead(slots);
  return async (call) => {
    const slot = bulkhead.enter(call.projectId);
    if ('retryMs' in slot) {
      throw ApplicationFailure.create({
        message: 'Other webhooks of the project are being called; this one is called in its turn.',
        type: 'WEBHOOK_TURN',
        category: ApplicationFailureCategory.BENIGN,
        nextRetryDelay: slot.retryMs,
      });
    }
    try {
      return await callWebhook(services, call);
    } finally {
      slot.leave();
    }
  };
}

/**
 * One attempt of a step's webhook. The attempt is between two transactions, never inside one: a
 * slow receiver holds no lock. A failed attempt is tried again by Temporal, after the pause the
 * answer asks for; operators see the attempts and the reason of the last.
 * @throws ApplicationFailure to be tried again, or STEP_FAILED.
 */
async function callWebhook(services: WebhookServices, call: StepCall): Promise<StepResult> {
  const { db, webhooks } = services;
  const ready = await performStep<Ready | StepResult>(db, call, (tx, visit) =>
    prepare(services, tx, visit, call),
  );
  if (!('request' in ready)) return ready;
  const outcome = await webhooks.send(ready.request);
  const attempts = ready.earlier + 1;
  const output = webhookOutput(ready.request, outcome, attempts);
  const delayMs = retryAfterAttempt(attempts, outcome, {
    attemptsMax: services.webhookAttemptsMax,
    now: new Date(),
  });
  const result = await performStep<StepResult | 'again'>(db, call, async (tx, visit) => {
    // Temporal has given this attempt up, and another has brought the step to its end.
    if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
    if (delayMs !== null) {
      await postponeStep(tx, visit.stepExecution.id, attempts);
      return 'again';
    }
    const { onFailure } = call.step.config as StepConfig<'WEBHOOK'>;
    if (!output.success && onFailure === 'fail') throw new StepFailure(said(outcome), output);
    return finishStep(tx, visit, call, output);
  });
  if (result === 'again') {
    throw ApplicationFailure.create({
      message: `Attempt ${attempts}: ${said(outcome)}`,
      type: 'WEBHOOK_ATTEMPT_FAILED',
      nextRetryDelay: delayMs ?? 0,
    });
  }
  // Cancelled while the request was on the wire: it cannot be recalled, so its result is kept.
  if (result.outcome.kind === 'closed') {
    await completeLateStep(db, call.executionId, call.step.id, output);
  }
  return result;
}

async function prepare(
  { apiUrl, seal, renderer }: WebhookServices,
  tx: Database,
  { execution, stepExecution, completedAt }: StepVisit,
  call: StepCall,
): Promise<Ready | StepResult> {
  if (completedAt) return { outcome: { kind: 'done' }, since: completedAt };
  const { project, scope } = await stepScope(tx, apiUrl, execution, stepExecution.id);
  const config = call.step.config as StepConfig<'WEBHOOK'>;
  const known = {
    ...scope,
    workflow: { id: execution.workflow_id, name: execution.workflow_name },
    execution: { id: execution.id, startedAt: execution.started_at.toISOString() },
  };
  const sources = webhookSources(config, known);
  const texts = await renderer.renderTexts(sources, scope);
  const rendered = new Map(sources.map((source, index) => [source, texts[index]] as const));
  const request = buildWebhook(config, known, (source) => rendered.get(source) ?? '');
  if ('fault' in request) throw new StepFailure(request.fault);
  return {
    request: {
      ...request,
      deliveryId: stepExecution.id,
      secret: seal.open(project.webhook_signing_secret),
      timestamp: Math.floor(Date.now() / 1000),
    },
    earlier: stepExecution.attempts,
  };
}

/** What came of an attempt, in one sentence. */
function said(outcome: WebhookOutcome): string {
  switch (outcome.kind) {
    case 'answered':
      return `The receiver answered ${outcome.statusCode}.`;
    case 'timeout':
      return 'The receiver did not answer in time.';
    default:
      return outcome.error;
  }
}
