import { randomUUID } from 'node:crypto';
import { type Database, transact } from '../../db/database.ts';
import { listAdministrators } from '../../db/accounts/members.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { findProject } from '../../db/projects/projects.ts';
import type { Ready } from '../../db/subscriptions/due.ts';
import { listHeaderSecrets } from '../../db/reads/header-secrets.ts';
import type { Target } from '../../db/subscriptions/sending.ts';
import { readFailingSeconds, settle } from '../../db/subscriptions/settling.ts';
import { disableSubscription } from '../../db/transactions/subscriptions/change-subscription.ts';
import { subscriptionDisabledMail } from '../../domain/mail/account-mail.ts';
import type { Unit } from '../../domain/subscription/choice.ts';
import {
  batchBody,
  batchIdOf,
  batchItem,
  deliveryIdOf,
  requestBody,
  type SentEvent,
} from '../../domain/subscription/request.ts';
import {
  batchAttemptsMax,
  holdMs,
  isDelivered,
  isGone,
  probeWaitMs,
  type RequestOutcome,
  retryWaitMs,
  withAttempt,
} from '../../domain/subscription/schedule.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { sendSigned } from '../../providers/signed-request.ts';
import type { WebhookSender } from '../../providers/web/webhook.ts';
import type { Pace } from './pace.ts';

export interface RequestServices {
  db: Database;
  cipher: Cipher;
  webhooks: WebhookSender;
  eventDelivery: { retrySeconds: readonly number[]; failingSeconds: number };
  /** Sender of account mail; null: no account mail is sent. */
  platformFrom: string | null;
  dashboardUrl: string;
}

export interface EventRequest extends Pick<Unit, 'batchId'> {
  /** The deliveries with their events, in the order of recording. */
  deliveries: readonly ReadyEvent[];
  /** The items of the list that a batch sends; null: the request has one event and no list. */
  items: readonly string[] | null;
  /**
   * True if the receiver seems down and this request is a probe. The failure of a probe does not
   * count in the retry schedules of its deliveries.
   */
  isProbe: boolean;
}

export type ReadyEvent = Ready & { event: NonNullable<Ready['event']> };

export function batchItems(target: Target, deliveries: readonly ReadyEvent[]): string[] {
  return deliveries.map((one) =>
    batchItem(deliveryIdOf(one.eventId, target.id), sentEvent(target, one), one.contact),
  );
}

function sentEvent(target: Target, { eventId, contactId, event }: ReadyEvent): SentEvent {
  const { createdAt, ...rest } = event;
  return {
    id: eventId,
    ...rest,
    projectId: target.publicId,
    contactId,
    createdAt: createdAt.toISOString(),
  };
}

/** Makes a request and records its result. */
export async function sendDeliveries(
  services: RequestServices & { pace: Pace },
  target: Target,
  request: EventRequest,
): Promise<void> {
  const { db, cipher, webhooks } = services;
  const { deliveries, items } = request;
  const [first] = deliveries;
  if (!first) return;
  const batch =
    items === null ? null : { id: request.batchId ?? randomUUID(), turn: target.batchTurn };
  const signed =
    batch === null || items === null
      ? {
          id: deliveryIdOf(first.eventId, target.id),
          body: requestBody(sentEvent(target, first), first.contact),
        }
      : { id: batchIdOf(batch.id), body: batchBody(items) };
  const secrets = await listHeaderSecrets(db, target);
  const startedAt = new Date();
  const outcome = await sendSigned({ webhooks, cipher }, { ...target, secrets }, signed);
  const now = new Date();
  const { statusCode, error, text } = outcome;
  const attempt = {
    at: startedAt.toISOString(),
    statusCode,
    error,
    ms: Math.round(now.getTime() - startedAt.getTime()),
  };
  const last = deliveries.flatMap(({ attempts }) => attempts.at(-1)?.at ?? []).toSorted();
  const settled = {
    deliveries: deliveries.map(({ eventId, turn, attempts }) => ({
      eventId,
      turn,
      attempts: withAttempt(attempts, attempt),
    })),
    batch,
    lastAttemptAt: last.length === 0 ? null : new Date(last.at(-1) ?? ''),
    startedAt,
    failure: isDelivered(outcome)
      ? null
      : {
          ...waitsOf(services, outcome, { target, request, now }),
          answer: statusCode === null ? null : { text },
        },
  };
  // The result is recorded without a pause. Only the loop that begins requests pauses.
  await services.pace.work(() =>
    transact(db, async (tx) => {
      await settle(tx, target.id, settled);
      if (!isDelivered(outcome)) await giveUp(services, tx, target, outcome);
    }),
  );
}

/**
 * Returns the waits after a failure: until the deliveries are retried, until the receiver is called
 * again, and until its next probe.
 */
function waitsOf(
  { eventDelivery: { retrySeconds } }: RequestServices,
  outcome: RequestOutcome,
  given: { target: Target; request: EventRequest; now: Date },
) {
  const { target, now } = given;
  const { deliveries, isProbe } = given.request;
  const by = { retrySeconds, now, random: Math.random() };
  const failed = target.probes;
  const tries = 1 + Math.max(...deliveries.map((one) => one.tries));
  return {
    waitMs: isProbe && !isGone(outcome) ? ('kept' as const) : retryWaitMs(tries, outcome, by),
    isTakenApart: !isProbe && deliveries.length > 1 && tries >= batchAttemptsMax,
    holdMs: holdMs(outcome, now),
    backOffMs: probeWaitMs(0, outcome, by),
    probe: isProbe ? { failed, waitMs: probeWaitMs(failed + 1, outcome, by) } : null,
  };
}

/**
 * Disables a subscription whose receiver wants no more requests or has failed for too long, and
 * writes to the administrators.
 */
async function giveUp(
  { eventDelivery, platformFrom, dashboardUrl }: RequestServices,
  tx: Database,
  target: Target,
  outcome: RequestOutcome,
): Promise<void> {
  const isFailing = (await readFailingSeconds(tx, target.id)) >= eventDelivery.failingSeconds;
  if (!isGone(outcome) && !isFailing) return;
  const reason = isGone(outcome) ? 'gone' : 'failing';
  const disabled = await disableSubscription(tx, target.id, reason);
  if (!disabled) return;
  const project = await findProject(tx, disabled.project_id);
  if (!project) return;
  const { host } = new URL(disabled.url);
  const mail = subscriptionDisabledMail({
    project: project.name,
    host,
    reason,
    link: dashboardUrl,
  });
  await insertPlatformMail(tx, platformFrom, await listAdministrators(tx, project.id), mail);
}
