import { type Database, transact } from '../../db/database.ts';
import { listAdministrators } from '../../db/accounts/members.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { findProject } from '../../db/projects/projects.ts';
import {
  listHeaderSecrets,
  readFailingSeconds,
  type Ready,
  settle,
  type Target,
} from '../../db/subscriptions/sending.ts';
import { disableSubscription } from '../../db/subscriptions/subscriptions.ts';
import { subscriptionDisabledMail } from '../../domain/mail/account-mail.ts';
import { deliveryIdOf, requestBody } from '../../domain/subscription/request.ts';
import {
  holdMs,
  isDelivered,
  isGone,
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

/** Sends one delivery and records what came of it. */
export async function sendDelivery(
  services: RequestServices,
  target: Target,
  delivery: Ready,
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
  const { retrySeconds } = services.eventDelivery;
  const waitMs = () =>
    retryWaitMs(delivery.tries + 1, outcome, { retrySeconds, now, random: Math.random() });
  await transact(db, async (tx) => {
    await settle(tx, target.id, {
      eventId,
      turn: delivery.turn,
      attempts: withAttempt(delivery.attempts, attempt),
      startedAt,
      failure: isDelivered(outcome)
        ? null
        : { waitMs: waitMs(), response: text, holdMs: holdMs(outcome, now) },
    });
    if (!isDelivered(outcome)) await giveUp(services, tx, target, outcome);
  });
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
