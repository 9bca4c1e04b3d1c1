import type { WebhookOutcome } from '../webhook/webhook.ts';
import type { SimulatedReceiver } from './simulation.ts';

/** Returns the response of a simulated receiver to an attempt, counted from 1. */
export function answerOf(receiver: SimulatedReceiver, attempt: number): WebhookOutcome {
  const isFailure = attempt <= receiver.failures;
  const { response } = receiver;
  return {
    kind: 'answered',
    statusCode: isFailure ? 503 : receiver.statusCode,
    contentType: 'application/json',
    retryAfter: null,
    text: isFailure || response === undefined ? '' : JSON.stringify(response),
    isCut: false,
  };
}
