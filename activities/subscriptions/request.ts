import { type Database, transact } from '../../db/database.ts';
import { listAdministrators } from '../../db/accounts/members.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { findProject } from '../../db/projects/projects.ts';
import { listHeaderSecrets, type Ready, type Target } from '../../db/subscriptions/sending.ts';
import { readFailingSeconds, settle } from '../../db/subscriptions/settling.ts';
import { disableSubscription } from '../../db/subscriptions/subscriptions.ts';
import { subscriptionDisabledMail } from '../../domain/mail/account-mail.ts';
import { deliveryIdOf, requestBody } from '../../domain/subscription/request.ts';
import {
  holdMs,
  isDelivered,
  isGone,
  probeWaitMs,
  type RequestOutcome,
  retryWaitMs,
  withAttempt,
} from '../../domain/subscription/schedule.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { sendSigned } from '../../providers/web/signed-request.ts';
import type { WebhookSender } from '../../providers/web/webhook.ts';

export interface RequestServices {
  db: Database;
  cipher: Cipher;
  webhooks: WebhookSender;
  eventDelivery: { retrySeconds: readonly number[]; failingSeconds: number };
  /** Sender of account mail; null: none is sent. */
  platformFrom: string | null;
  dashboardUrl: string;
}

/**
 * Sends one delivery and records what came of it.
 * @param isProbe the receiver is taken for dead: a failure does not count in the delivery's schedule
 */
export async function sendDelivery(
  services: RequestServices,
  target: Target,
  { delivery, isProbe }: { delivery: Ready; isProbe: boolean },
): Promise<void> {
  const { db, cipher, webhooks } = services;
  const { eventId, contactId, event, contact } = delivery;
  if (event === null) return;
  const { createdAt, ...rest } = event;
  const body = requestBody(
    {
      id: eventId,
      ...rest,
      projectId: target.publicId,
      contactId,
      createdAt: createdAt.toISOString(),
    },
    contact,
  );
  const secrets = await listHeaderSecrets(db, target);
  const startedAt = new Date();
  const id = deliveryIdOf(eventId, target.id);
  const outcome = await sendSigned({ webhooks, cipher }, { ...target, secrets }, { id, body });
  const now = new Date();
  const { statusCode, error, text } = outcome;
  const attempt = {
    at: startedAt.toISOString(),
    statusCode,
    error,
    ms: Math.round(now.getTime() - startedAt.getTime()),
  };
  const last = delivery.attempts.at(-1);
  await transact(db, async (tx) => {
    await settle(tx, target.id, {
      eventId,
      turn: delivery.turn,
      attempts: withAttempt(delivery.attempts, attempt),
      lastAttemptAt: last === undefined ? null : new Date(last.at),
      startedAt,
      failure: isDelivered(outcome)
        ? null
        : { ...waitsOf(services, outcome, { target, delivery, isProbe, now }), response: text },
    });
    if (!isDelivered(outcome)) await giveUp(services, tx, target, outcome);
  });
}

/** How long what waits after a failure. */
function waitsOf(
  { eventDelivery: { retrySeconds } }: RequestServices,
  outcome: RequestOutcome,
  given: { target: Target; delivery: Ready; isProbe: boolean; now: Date },
) {
  const { target, delivery, isProbe, now } = given;
  const by = { retrySeconds, now, random: Math.random() };
  const failed = target.probes;
  return {
    waitMs:
      isProbe && !isGone(outcome)
        ? ('kept' as const)
        : retryWaitMs(delivery.tries + 1, outcome, by),
    holdMs: holdMs(outcome, now),
    backOffMs: probeWaitMs(0, outcome, by),
    probe: isProbe ? { failed, waitMs: probeWaitMs(failed + 1, outcome, by) } : null,
  };
}

/** Disables a subscription whose receiver is gone, or has failed for too long, and writes of it. */
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
