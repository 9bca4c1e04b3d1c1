import { z } from 'zod';
import type { SealedHeaders } from '../../db/subscriptions/subscriptions.ts';
import { limits } from '../../domain/limits.ts';
import { EventName } from '../../domain/workflow/steps.ts';
import { invalidField } from '../../domain/errors.ts';
import { secretNamesOf } from '../../domain/subscription/request.ts';
import {
  isCallable,
  isHeaderValue,
  isItem,
  isOwnHeader,
  isToken,
} from '../../domain/subscription/settings.ts';
import type { Cipher } from '../../providers/encryption.ts';
import { refuseUnmadeEvent } from '../workflows/trigger.ts';
import { Description, fault, Moment } from '../http/schemas.ts';

/** What a subscription is made and changed with. */

const Url = z
  .string()
  .max(limits.subscriptionUrlChars)
  .refine(
    isCallable,
    fault('invalid_string', 'Must be an http or https URL without user name, password or #.'),
  )
  .meta({ examples: ['https://hooks.shop.example/everpost'] });

const Item = EventName.refine(
  isItem,
  fault('invalid_string', 'Must be a name, `<prefix>.*` or `*`.'),
);

const Items = z
  .array(Item)
  .min(1)
  .max(limits.subscriptionItems)
  .transform((items) => [...new Set(items)])
  .describe('Names of events, `<prefix>.*` for all that begin so, or `*` for all');

const Headers = z
  .record(z.string(), z.string())
  .nullable()
  .superRefine((headers, context) => {
    const entries = Object.entries(headers ?? {});
    const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (entries.length > limits.subscriptionHeaders) {
      const message = `Must be at most ${limits.subscriptionHeaders} headers.`;
      context.addIssue({ code: 'custom', ...fault('too_big', message) });
    } else if (bytes > limits.subscriptionHeaderBytes) {
      const message = `Must be at most ${limits.subscriptionHeaderBytes} bytes in all.`;
      context.addIssue({ code: 'custom', ...fault('too_big', message) });
    }
    for (const [name, value] of entries) {
      const wrong = headerFault(name, value);
      if (wrong) context.addIssue({ code: 'custom', path: [name], ...wrong });
    }
  })
  .describe('Sent with every request, and never answered; `{{secret.NAME}}` is replaced in values')
  .meta({ examples: [{ Authorization: 'Bearer {{secret.HOOK}}' }] });

function headerFault(name: string, value: string) {
  if (!isToken(name) || name.length > limits.headerNameChars) {
    return fault('invalid_string', 'Must be the name of a header.');
  }
  if (isOwnHeader(name)) return fault('not_allowed', 'The service sets this header itself.');
  if (!isHeaderValue(value) || value.length > limits.headerValueChars) {
    return fault('invalid_string', 'Must be printable ASCII of one line.');
  }
  return null;
}

const Batch = z
  .object({ max: z.int().min(1).max(limits.subscriptionBatch) })
  .nullable()
  .describe('How many events a request may have; null: each has one, without a list around it')
  .meta({ examples: [null] });

export const NewSubscription = z.object({
  url: Url,
  events: Items,
  description: Description.optional(),
  headers: Headers.optional(),
  batch: Batch.optional(),
  enabled: z.boolean().default(true),
  from: Moment.optional().describe('By default now; at most 30 days ago'),
});

export const SubscriptionPatch = z.object({
  url: Url.optional(),
  events: Items.optional(),
  description: Description.optional(),
  headers: Headers.optional(),
  batch: Batch.optional(),
  enabled: z.boolean().optional(),
  paused: z.boolean().optional(),
});

/**
 * @throws Problem VALIDATION_ERROR `not_allowed` for an address that must not be called,
 *   `reserved_event` for an event under `email.` that never happens
 */
export function checkSubscription(
  given: { url?: string | undefined; events?: readonly string[] | undefined },
  webhooks: { refuses(url: URL): boolean },
): void {
  if (given.url !== undefined && webhooks.refuses(new URL(given.url))) {
    const message =
      'Is no public address. Whoever runs this server allows others with WEBHOOK_ALLOW_PRIVATE=true.';
    throw invalidField('url', 'not_allowed', message);
  }
  for (const [index, item] of (given.events ?? []).entries()) {
    if (item !== 'email.*') refuseUnmadeEvent(item, `events.${index}`);
  }
}

const dayMs = 86_400_000;

/** @throws Problem VALIDATION_ERROR for a time that is too far back, or in the future */
export function checkPast(field: string, at: Date, now: Date): void {
  const { replayDays } = limits;
  if (at.getTime() > now.getTime()) {
    throw invalidField(field, 'too_big', 'Must not be in the future.');
  }
  if (at.getTime() < now.getTime() - replayDays * dayMs) {
    throw invalidField(field, 'too_small', `Must be at most ${replayDays} days ago.`);
  }
}

/** Headers as they are stored. Of names that are equal but for their case the last one wins. */
export function sealHeaders(
  cipher: Cipher,
  given: Readonly<Record<string, string>> | null,
): SealedHeaders {
  const byName = new Map(
    Object.entries(given ?? {}).map(([name, value]) => [
      name.toLowerCase(),
      [name, value] as const,
    ]),
  );
  const headers = Object.fromEntries(byName.values());
  const names = Object.keys(headers).toSorted((a, b) => (a < b ? -1 : 1));
  return {
    headers: names.length === 0 ? null : cipher.encrypt(JSON.stringify(headers)),
    header_names: names,
    secret_names: secretNamesOf(Object.values(headers)),
  };
}
