import { z } from 'zod';
import { rampStoppedEvent } from '../../domain/event-names.ts';
import { limits } from '../../domain/limits.ts';
import { EventName, refuseUnmadeEvent } from '../../domain/workflow/steps/schemas.ts';
import { whenRight } from '../../domain/errors.ts';
import {
  isCallable,
  isHeaderValue,
  isItem,
  isOwnHeader,
  isToken,
} from '../../domain/subscription/settings.ts';
import { Description, fault, Moment, named, addFault } from '../http/schemas.ts';
import { unitMs } from '../../domain/filter/filter.ts';

/** Schemas of requests that create and change a subscription. */

const Url = z
  .string()
  .max(limits.subscriptionUrlChars)
  .refine(
    isCallable,
    fault('invalid_string', 'Must be an http or https URL without user name, password or #.'),
  )
  .meta({ examples: ['https://hooks.shop.example/everpost'] });

const Item = EventName.refine(
  (item) => item === '' || isItem(item),
  fault(
    'invalid_string',
    'Must be the name of an event, a prefix such as `order.*`, or `*` for all events.',
  ),
).superRefine((item, context) => {
  if (item !== 'email.*' && item !== rampStoppedEvent) refuseUnmadeEvent(item, context);
});

const Items = z
  .array(Item)
  .min(1)
  .max(limits.subscriptionItems)
  .transform((items) => [...new Set(items)])
  .describe('Names of events, `<prefix>.*` for all with this prefix, or `*` for all');

const Headers = z
  .record(z.string(), z.string())
  .nullable()
  .superRefine((headers, context) => {
    const entries = Object.entries(headers ?? {});
    const bytes = entries.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (entries.length > limits.subscriptionHeaders) {
      const message = `Must have at most ${limits.subscriptionHeaders} headers, not ${entries.length}.`;
      addFault(context, 'too_big', message);
    } else if (bytes > limits.subscriptionHeaderBytes) {
      const message = `All names and values together must have at most ${limits.subscriptionHeaderBytes} bytes, not ${bytes}.`;
      addFault(context, 'too_big', message);
    }
    for (const [name, value] of entries) {
      const wrong = headerFault(name, value);
      if (wrong) context.addIssue({ code: 'custom', path: [name], ...wrong });
    }
  })
  .describe('Sent with every request, and never returned; `{{secret.NAME}}` is replaced in values')
  .meta({ examples: [{ Authorization: 'Bearer {{secret.HOOK}}' }] });

function headerFault(name: string, value: string) {
  if (!isToken(name) || name.length > limits.headerNameChars) {
    const chars = limits.headerNameChars;
    return fault(
      'invalid_string',
      `The name of a header must be ASCII, without spaces and colons, and have at most ${chars} characters.`,
    );
  }
  if (isOwnHeader(name))
    return fault('not_allowed', 'Everpost sets this header itself. Remove it.');
  if (!isHeaderValue(value) || value.length > limits.headerValueChars) {
    const chars = limits.headerValueChars;
    return fault(
      'invalid_string',
      `Must be one line of printable ASCII without a space at either end, of at most ${chars} characters.`,
    );
  }
  return null;
}

const Batch = named('EventBatchInput', {
  max: z.int().min(1).max(limits.subscriptionBatch),
})
  .nullable()
  .describe('Maximum number of events per request; null: one event per request, without a list')
  .meta({ examples: [null] });

/** The start of a period in the past, at most 30 days ago. */
export const PastMoment = Moment.superRefine((at, context) => {
  const { replayDays } = limits;
  if (at.getTime() > Date.now()) addFault(context, 'too_big', 'Must not be in the future.');
  if (at.getTime() < Date.now() - replayDays * unitMs.days) {
    addFault(context, 'too_small', `Must not be more than ${replayDays} days ago.`);
  }
});

export const NewSubscription = z
  .object({
    url: Url,
    events: Items,
    description: Description.optional(),
    headers: Headers.optional(),
    batch: Batch.optional(),
    enabled: z.boolean().default(true),
    from: PastMoment.optional().describe('Default: now; at most 30 days ago'),
  })
  .refine(({ from, enabled }) => !from || enabled, {
    path: ['from'],
    ...fault(
      'not_allowed',
      'Can only be sent for an enabled subscription. Leave it out, or set `enabled` to true.',
    ),
    ...whenRight('from', 'enabled'),
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
