import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { completeLateStep, postponeStep } from '../../db/workflows/executions/steps.ts';
import { bug } from '../../domain/errors.ts';
import type { StepCallout } from '../../domain/workflow/steps/effects.ts';
import { stepModules } from '../../domain/workflow/steps/registry.ts';
import {
  retryAfterAttempt,
  type WebhookCall,
  webhookError,
  type WebhookOutcome,
  webhookOutput,
} from '../../domain/webhook/webhook.ts';
import { SecretMask } from '../../domain/secrets/in-templates.ts';
import type { WebhookAttempt, WebhookSender } from '../../providers/web/webhook.ts';
import { createBulkhead } from './bulkhead.ts';
import { performStep, type StepCall, type StepResult } from './perform.ts';
import { endPlayed, enterAndPlay } from './play.ts';
import type { PlayServices, RowEffects } from './row-effects.ts';

export interface WebhookServices extends PlayServices {
  webhooks: WebhookSender;
  webhookAttemptsMax: number;
}

/** A request that is ready to be sent. `earlier`: number of attempts before. */
interface Ready {
  request: WebhookAttempt;
  /** The request without secrets, which may be stored. */
  shown: WebhookCall;
  mask: SecretMask;
  earlier: number;
}

/**
 * Makes the requests of WEBHOOK steps in a limited number of slots. A project with slow receivers
 * gets only its share of the slots, and its further calls go back to Temporal until their turn.
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
        message:
          'The calls of other webhooks use all slots that the project may have. ' +
          `This one is tried again in ${Math.ceil(slot.retryMs / 1000)} s.`,
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
 * Makes one attempt of a step's webhook. The request is made between two transactions, so a slow
 * receiver holds no lock. Temporal retries a failed attempt after the pause of `retryAfterAttempt`,
 * and shows operators the number of attempts and the last error. Secrets are masked in the stored
 * response.
 * @throws ApplicationFailure to be retried, or STEP_FAILED
 */
async function callWebhook(services: WebhookServices, call: StepCall): Promise<StepResult> {
  const { db, webhooks } = services;
  const ready = await enterAndPlay<Ready | StepResult>(
    services,
    call,
    async (tx, effects, played) =>
      played.kind === 'call'
        ? readyFor(effects, played.call)
        : endPlayed(tx, effects, call, played),
  );
  if (!('request' in ready)) return ready;
  const { request, shown, mask } = ready;
  const outcome = masked(await webhooks.send(request), mask);
  const attempts = ready.earlier + 1;
  const answered = webhookOutput(shown, outcome, attempts);
  const output = { ...answered, response: mask.value(answered.response) };
  const delayMs = retryAfterAttempt(attempts, outcome, {
    attemptsMax: services.webhookAttemptsMax,
    now: new Date(),
  });
  const result = await performStep<StepResult | 'again'>(db, call, async (tx, visit) => {
    // Temporal has timed out this attempt, and a later attempt completed the step.
    if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
    if (delayMs !== null) {
      const nextAttemptAt = new Date(Date.now() + delayMs).toISOString();
      await postponeStep(tx, visit.stepExecution.id, { ...output, nextAttemptAt });
      return 'again';
    }
    const { afterCall } = stepModules[call.step.type];
    if (!afterCall) throw bug(`A step of the type ${call.step.type} has made a request.`);
    return endPlayed(tx, { visit }, call, afterCall(call.step.config, output));
  });
  if (result === 'again') {
    throw ApplicationFailure.create({
      message: `Attempt ${attempts}: ${webhookError(outcome)}`,
      type: 'WEBHOOK_ATTEMPT_FAILED',
      nextRetryDelay: delayMs ?? 0,
    });
  }
  // The execution was cancelled during the request. The request cannot be undone, so its result is
  // stored.
  if (result.outcome.kind === 'closed') {
    await completeLateStep(db, call.executionId, call.step.id, output);
  }
  return result;
}

async function readyFor(
  effects: RowEffects,
  { request, shown, secrets }: StepCallout,
): Promise<Ready> {
  const { id, attempts } = effects.visit.stepExecution;
  return {
    request: {
      ...request,
      deliveryId: id,
      secret: await effects.signingSecret(),
      timestamp: Math.floor(Date.now() / 1000),
      bodyIsSecret: request.body !== shown.body || typeOf(request) !== typeOf(shown),
    },
    shown,
    mask: new SecretMask(secrets),
    earlier: attempts,
  };
}

function typeOf({ headers }: WebhookCall): string | undefined {
  return Object.entries(headers).findLast(([name]) => name.toLowerCase() === 'content-type')?.[1];
}

function masked(outcome: WebhookOutcome, mask: SecretMask): WebhookOutcome {
  switch (outcome.kind) {
    case 'answered':
      return { ...outcome, text: mask.text(outcome.text, outcome.isCut) };
    case 'timeout':
      return outcome;
    default:
      return { ...outcome, error: mask.text(outcome.error) };
  }
}
