import { createHmac } from 'node:crypto';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { v7 as uuidV7 } from 'uuid';
import type { Database } from '../../db/database.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { findSecrets, type SealedSecret } from '../../db/projects/secrets.ts';
import {
  completeLateStep,
  postponeStep,
  type StepVisit,
} from '../../db/workflows/executions/steps.ts';
import type { StepConfig } from '../../domain/workflow/steps/registry.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import { foreignSecrets } from '../../domain/secrets/hosts.ts';
import {
  retryAfterAttempt,
  type WebhookCall,
  webhookError,
  type WebhookOutcome,
  webhookOutput,
} from '../../domain/webhook/webhook.ts';
import { renderWebhook } from '../../domain/webhook/render.ts';
import { hidden, SecretMask } from '../../domain/secrets/in-templates.ts';
import { renderAhead } from '../../domain/template/render-ahead.ts';
import type { Renderer } from '../../domain/template/render.ts';
import type { WebhookAttempt, WebhookSender } from '../../providers/web/webhook.ts';
import { createBulkhead } from './bulkhead.ts';
import { finishStep, performStep, type StepCall, type StepResult } from './perform.ts';
import { stepVariables } from './variables.ts';

export interface WebhookServices {
  db: Database;
  apiUrl: string;
  cipher: Cipher;
  renderer: Renderer;
  webhooks: WebhookSender;
  webhookAttemptsMax: number;
}

/** A request ready to be sent; it was sent `earlier` times before. */
interface Ready {
  request: WebhookAttempt;
  /** The address without secrets, safe to store. */
  shownUrl: string;
  mask: SecretMask;
  earlier: number;
}

/**
 * Calls the webhooks of steps in a limited number of slots. A project whose receivers hang gets
 * only its share of them; further calls go back to Temporal until their turn.
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
 * One attempt of a step's webhook. The request is made between two transactions, never inside one:
 * neither a slow receiver nor a slow template holds a lock. Temporal retries a failed attempt,
 * after the pause that the response asks for. Operators see the number of attempts and the last
 * error. Secrets are only in the request: in the stored response they are masked.
 * @throws ApplicationFailure to be retried, or STEP_FAILED.
 */
async function callWebhook(services: WebhookServices, call: StepCall): Promise<StepResult> {
  const { db, webhooks } = services;
  const newId = uuidV7();
  const ready = await renderAhead(services.renderer, (renderer) =>
    performStep<Ready | StepResult>(
      db,
      call,
      (tx, visit) => prepare({ ...services, renderer }, tx, visit, call),
      newId,
    ),
  );
  if (!('request' in ready)) return ready;
  const { request, shownUrl, mask } = ready;
  const outcome = masked(await webhooks.send(request), mask);
  const attempts = ready.earlier + 1;
  const answered = webhookOutput({ ...request, url: shownUrl }, outcome, attempts);
  const output = { ...answered, response: mask.value(answered.response) };
  const delayMs = retryAfterAttempt(attempts, outcome, {
    attemptsMax: services.webhookAttemptsMax,
    now: new Date(),
  });
  const result = await performStep<StepResult | 'again'>(db, call, async (tx, visit) => {
    // Temporal had timed this attempt out, and a later one has completed the step.
    if (visit.completedAt) return { outcome: { kind: 'done' }, since: visit.completedAt };
    if (delayMs !== null) {
      const nextAttemptAt = new Date(Date.now() + delayMs).toISOString();
      await postponeStep(tx, visit.stepExecution.id, { ...output, nextAttemptAt });
      return 'again';
    }
    const { onFailure } = call.step.config as StepConfig<'WEBHOOK'>;
    if (!output.success && onFailure === 'fail')
      throw new StepFailure(webhookError(outcome), output);
    const finished = await finishStep(tx, visit, call, output);
    return output.success ? finished : { ...finished, gaveUp: webhookError(outcome) };
  });
  if (result === 'again') {
    throw ApplicationFailure.create({
      message: `Attempt ${attempts}: ${webhookError(outcome)}`,
      type: 'WEBHOOK_ATTEMPT_FAILED',
      nextRetryDelay: delayMs ?? 0,
    });
  }
  // Cancelled during the request: it cannot be undone, so its result is kept.
  if (result.outcome.kind === 'closed') {
    await completeLateStep(db, call.executionId, call.step.id, output);
  }
  return result;
}

async function prepare(
  services: WebhookServices,
  tx: Database,
  visit: StepVisit,
  call: StepCall,
): Promise<Ready | StepResult> {
  const { apiUrl, cipher, renderer } = services;
  const { execution, stepExecution, completedAt } = visit;
  if (completedAt) return { outcome: { kind: 'done' }, since: completedAt };
  const { project, variables } = await stepVariables(tx, apiUrl, execution, stepExecution.id);
  const config = call.step.config as StepConfig<'WEBHOOK'>;
  const known = {
    ...variables,
    workflow: { id: execution.workflow_id, name: execution.workflow_name },
    execution: { id: execution.id, startedAt: execution.started_at.toISOString() },
  };
  const signingSecret = cipher.decrypt(project.webhook_signing_secret);
  const mark = createHmac('sha256', signingSecret).update('mark of secrets').digest('hex');
  const rendered = await renderWebhook(renderer, config, known, mark);
  const found = await requireSecrets(tx, execution.project_id, rendered.secretNames);
  const secrets = new Map(found.map(({ name, value }) => [name, cipher.decrypt(value)]));
  const request = rendered.build((name) => secrets.get(name) ?? '');
  const shown = secrets.size === 0 ? request : rendered.build(() => hidden);
  if ('fault' in request) throw new StepFailure(request.fault);
  if ('fault' in shown) throw new StepFailure(shown.fault);
  // An address that cannot be read is not called.
  const address = URL.canParse(request.url) ? new URL(request.url) : null;
  const [foreign] = address ? foreignSecrets(found, address) : [];
  if (foreign !== undefined) throw new StepFailure(`secret not allowed: ${foreign}`);
  return {
    request: {
      ...request,
      deliveryId: stepExecution.id,
      secret: signingSecret,
      timestamp: Math.floor(Date.now() / 1000),
      bodyIsSecret: request.body !== shown.body || typeOf(request) !== typeOf(shown),
    },
    shownUrl: shown.url,
    mask: new SecretMask(secrets.values()),
    earlier: stepExecution.attempts,
  };
}

/** The secrets of these names. @throws StepFailure when one does not exist. */
async function requireSecrets(
  tx: Database,
  projectId: string,
  names: readonly string[],
): Promise<SealedSecret[]> {
  if (names.length === 0) return [];
  const found = await findSecrets(tx, projectId, names);
  const missing = names.find((name) => !found.some((secret) => secret.name === name));
  if (missing !== undefined) throw new StepFailure(`unknown secret: ${missing}`);
  return found;
}

function typeOf({ headers }: WebhookCall): string | undefined {
  return Object.entries(headers).findLast(([name]) => name.toLowerCase() === 'content-type')?.[1];
}

/** The outcome of an attempt, without secrets. */
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
