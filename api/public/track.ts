import { z } from 'zod';
import {
  isPlain,
  type RecordedTracked,
  recordTracked,
} from '../../db/transactions/contacts/record-tracked.ts';
import { eventData, planContactData } from '../../domain/contact/data.ts';
import { together } from '../../domain/errors.ts';
import { isReservedEvent } from '../../domain/event-names.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { withinEventData } from './event-data.ts';
import { requireEvent } from '../access/keys.ts';
import {
  consentFields,
  consentWishOf,
  noContradiction,
  requireKeys,
  checkMergedData,
  checkTopics,
} from '../consent/input.ts';
import { evidenceOf } from '../consent/evidence.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { ContactData, Email, Time, named } from '../http/schemas.ts';
import { type Database, transact } from '../../db/database.ts';

/** An event name that a customer may use. */
export const TrackedEventName = EventName.superRefine((name, context) => {
  if (!isReservedEvent(name)) return;
  context.addIssue({
    code: 'custom',
    message: `The name "${name}" is reserved for system events. Choose another one.`,
    params: { code: 'reserved_event', received: name },
  });
});

export const TrackBody = z
  .object({
    email: Email,
    event: TrackedEventName,
    subscribed: z.boolean().optional(),
    data: ContactData.refine(...withinEventData),
    ...consentFields,
  })
  .refine(...noContradiction)
  .meta({ id: 'TrackRequest' });

export const TrackAnswer = named('TrackedEvent', {
  contact: z.uuid(),
  event: z.uuid(),
  timestamp: Time,
});

export const trackExample = {
  body: { email: 'ada@shop.example', event: 'signed_up', data: { plan: 'pro' } },
  response: {
    contact: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
    event: 'e1000000-0000-4000-8000-000000000001',
    timestamp: '2026-11-21T08:30:00.000Z',
  },
};

export const track = endpoint({
  id: 'track',
  method: 'POST',
  path: '/v1/track',
  summary: 'Record an event of a contact; it starts workflows and ends their waits',
  description:
    'Creates the contact, subscribed unless `subscribed` is false, or merges `data` into it, ' +
    'and records the event, in one transaction. `data` is at most 64 KB as JSON. Names of ' +
    'system events, such as those that begin with `email.`, are refused with the field code ' +
    '`reserved_event`. The public key is enough. With `confirm` the contact first gets a ' +
    'mail that asks to confirm. CONSENT_SENDER_REQUIRED: the consent policy has no sender ' +
    'for that mail.',
  access: 'either',
  wrapped: true,
  body: TrackBody,
  response: TrackAnswer,
  problems: ['CONSENT_SENDER_REQUIRED'],
  example: trackExample,
  async check(call) {
    const { caller, body } = call;
    await together(
      () => checkTopics(call, body),
      () => body.event !== undefined && requireEvent(caller, body.event),
    );
  },
  checkBeside: (call) => checkMergedData(call, call.body),
  async handle(call) {
    const complete = call.keyUse?.completeIn;
    return recordTracking(call, call.body, complete);
  },
});

type TrackCall = Pick<
  Call<'either', unknown, unknown, unknown>,
  'caller' | 'request' | 'db' | 'tracking'
>;

/**
 * Creates or updates the contact and records its event, in one transaction. `complete` stores the
 * response in the same transaction, so that the event is recorded once, even if the request is
 * repeated.
 */
export async function recordTracking(
  { db, tracking, caller, request }: TrackCall,
  body: z.output<typeof TrackBody>,
  complete?: (tx: Database, answered: z.input<typeof TrackAnswer>) => Promise<void>,
): Promise<z.input<typeof TrackAnswer>> {
  const { projectId } = caller;
  const { topics, ...wish } = consentWishOf(caller, body);
  const event = {
    ...wish,
    email: body.email,
    change: planContactData(body.data),
    name: body.event,
    data: eventData(body.data),
    evidence: evidenceOf(caller, request, body.proof),
    topics: await requireKeys(db, caller, topics),
    keepsLeft: caller.isPublic,
  };
  if (!complete && isPlain(event)) return present(await tracking.write(projectId, event));
  return transact(db, async (tx) => {
    const answered = present(await recordTracked(tx, projectId, event));
    await complete?.(tx, answered);
    return answered;
  });
}

function present({ contactId, eventId, createdAt }: RecordedTracked): z.input<typeof TrackAnswer> {
  return { contact: contactId, event: eventId, timestamp: createdAt.toISOString() };
}
