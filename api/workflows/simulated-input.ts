import { z } from 'zod';
import { whenRight } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { withinEventData } from '../public/event-data.ts';
import { ContactData, fault, Moment } from '../http/schemas.ts';

/** Parts of requests and responses of simulations. */

export const SimulatedReceiver = z.object({
  statusCode: z.int().min(100).max(599).default(200),
  response: z.unknown().optional().describe('Any JSON; absent: no body'),
  failures: z.int().min(0).max(10).default(0).describe('Number of 503 responses before this one'),
});

export const SimulatedHappening = z
  .object({
    name: EventName,
    after: z
      .number()
      .min(0)
      .max(limits.waitSecondsMax * 10)
      .optional()
      .describe('Seconds since the start'),
    at: Moment.optional(),
    data: ContactData.refine(...withinEventData).optional(),
  })
  .refine(({ after, at }) => (after === undefined) !== (at === undefined), {
    path: ['after'],
    ...fault('required', 'Send exactly one of `after` and `at`.'),
    ...whenRight('after', 'at'),
  });

export const SimulatedStart = z
  .object({
    starts: z.boolean(),
    reason: z.enum(['where', 'no_key', 'key_too_long']).nullable(),
    key: z.string().nullable(),
  })
  .describe(
    'The start of an execution by an event with `context` as its data. Only for workflows ' +
      'whose trigger has `where`, or with executionKey',
  );
