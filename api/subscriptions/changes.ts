import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { SubscriptionRow } from '../../db/subscriptions/subscriptions.ts';
import {
  insertSubscription,
  updateSubscription,
} from '../../db/transactions/subscriptions/change-subscription.ts';
import { found, Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { secretOf } from '../../providers/signed-request.ts';
import { refuseForeignHeaders } from './foreign-secrets.ts';
import { sealHeaders, unknownSecret } from './settings.ts';
import { type NewSubscription, type SubscriptionPatch } from './input.ts';
import { requireSubscription } from './record.ts';

/** Changes of event subscriptions, in the transaction of the caller. */

interface Writing {
  tx: Database;
  projectId: string;
  cipher: Cipher;
}

/**
 * Creates a subscription, and its secret.
 * @param options.id its id, by default a new one
 * @param options.causedBy the result of `actorOf`
 * @throws Problem EVENT_SUBSCRIPTION_LIMIT, VALIDATION_ERROR
 */
export async function storeNewSubscription(
  { tx, projectId, cipher }: Writing,
  body: z.output<typeof NewSubscription>,
  { id, causedBy }: { id?: string; causedBy: string },
): Promise<{ row: SubscriptionRow; secret: string }> {
  const secret = secretOf(randomBytes(32));
  const inserted = await insertSubscription(tx, projectId, {
    ...(id !== undefined && { id }),
    url: body.url,
    events: body.events,
    description: body.description ?? null,
    enabled: body.enabled,
    batch_max: body.batch?.max ?? null,
    from: body.from?.toISOString() ?? null,
    secret: cipher.encrypt(secret),
    created_by: causedBy,
    ...sealHeaders(cipher, body.headers ?? null),
  });
  if (inserted === 'limit') {
    const details = { limit: limits.subscriptions };
    const message = `The project already has ${limits.subscriptions} event subscriptions, which is the maximum.`;
    throw new Problem('EVENT_SUBSCRIPTION_LIMIT', { message, details });
  }
  if ('missingSecret' in inserted) throw unknownSecret(inserted.missingSecret);
  await refuseForeignHeaders(tx, cipher, inserted);
  return { row: inserted, secret };
}

/**
 * Changes a subscription. Fields that are left out keep their value.
 * @throws Problem EVENT_SUBSCRIPTION_NOT_FOUND, VALIDATION_ERROR
 */
export async function storeSubscription(
  { tx, projectId, cipher }: Writing,
  id: string,
  body: z.output<typeof SubscriptionPatch>,
): Promise<{ before: SubscriptionRow; after: SubscriptionRow }> {
  const { url, events, description, enabled, paused, headers } = body;
  const sealed = headers === undefined ? {} : sealHeaders(cipher, headers);
  const batch = body.batch === undefined ? {} : { batch_max: body.batch?.max ?? null };
  const change = { url, events, description, enabled, paused, ...batch, ...sealed };
  const before = await requireSubscription(tx, projectId, id);
  const changed = await updateSubscription(tx, projectId, id, change);
  if (changed && 'missingSecret' in changed) throw unknownSecret(changed.missingSecret);
  const isElsewhere = url !== undefined || headers !== undefined;
  if (changed && isElsewhere) await refuseForeignHeaders(tx, cipher, changed);
  return { before, after: found('EVENT_SUBSCRIPTION', id, changed) };
}
