import { actorOf } from '../access/caller.ts';
import { z } from 'zod';
import { findContact } from '../../db/contacts/contacts.ts';
import { listContactEvents, listEvents, readEvents } from '../../db/events/events.ts';
import { recordContactEvent } from '../../db/transactions/events/record-events.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { eventData } from '../../domain/contact/data.ts';
import { found, notFound } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { type Call, answer, endpoint } from '../http/endpoint.ts';
import {
  TrackAnswer,
  TrackBody,
  TrackedEventName,
  recordTracking,
  trackExample,
} from '../public/track.ts';
import { withinEventData } from '../public/event-data.ts';
import {
  answerList,
  chosenBy,
  inputSchema,
  JsonObject,
  named,
  Uuid,
  queryInt,
} from '../http/schemas.ts';
import { nameEndpoints } from './names.ts';
import { EventAnswer, eventExample, presentEvent } from './record.ts';
import { type Database, transact } from '../../db/database.ts';
import { checkMergedData, checkTopics } from '../consent/input.ts';

const NamedEvent = named('NamedEventRequest', {
  name: TrackedEventName,
  contactId: Uuid.optional(),
  emailId: Uuid.optional(),
  data: JsonObject.nullable()
    .optional()
    .refine(...withinEventData)
    .meta({ type: ['object', 'null'], additionalProperties: true }),
});

type Body = z.output<typeof TrackBody> | z.output<typeof NamedEvent>;

/**
 * A body with the key `event` is validated as a body of `/v1/track`. Any other body is validated as
 * an event with a `name`.
 */
const EventBody = chosenBy((given): z.ZodType<Body> => {
  const isTracked = typeof given === 'object' && given !== null && Object.hasOwn(given, 'event');
  return isTracked ? TrackBody : NamedEvent;
}).meta({
  anyOf: [TrackBody, NamedEvent].map(inputSchema),
});

export const trackEvent = endpoint({
  id: 'trackEvent',
  method: 'POST',
  path: '/events/track',
  summary: 'Record an event of a contact, of an email, or of neither',
  description:
    'With `event` in the body it works like POST /v1/track and returns 200. With `name` it ' +
    'records an event of a contact, of an email or of neither, and returns 201. `data` is at ' +
    'most 64 KB as JSON. CONTACT_NOT_FOUND, EMAIL_NOT_FOUND: the project does not have the ' +
    'one in the body.',
  access: 'secret',
  otherAnswers: [{ status: 201, description: 'An event by its name' }],
  body: EventBody,
  response: z.union([
    named('TrackAnswer', { success: z.literal(true), data: TrackAnswer }),
    EventAnswer,
  ]),
  problems: ['CONTACT_NOT_FOUND', 'EMAIL_NOT_FOUND', 'CONSENT_SENDER_REQUIRED'],
  example: { ...trackExample, response: { success: true, data: trackExample.response } },
  async check(call) {
    if ('topics' in call.body) await checkTopics(call, call.body);
  },
  async checkBeside(call) {
    if ('email' in call.body) await checkMergedData(call, call.body);
  },
  async handle(call) {
    const { body, keyUse } = call;
    if ('event' in body) {
      const shown = (data: z.input<typeof TrackAnswer>) => ({ success: true as const, data });
      const complete =
        keyUse &&
        ((tx: Database, answered: z.input<typeof TrackAnswer>) =>
          keyUse.completeIn(tx, shown(answered)));
      const tracked = await recordTracking(call, body, complete ?? undefined);
      return shown(tracked);
    }
    return answer(await recordNamed(call, body), { status: 201 });
  },
});

async function recordNamed(
  { db, keyUse, caller }: Call<'secret', unknown, unknown, unknown>,
  body: z.output<typeof NamedEvent>,
) {
  const { projectId, project } = caller;
  const given = {
    contactId: body.contactId ?? null,
    emailId: body.emailId ?? null,
    name: body.name,
    data: eventData(body.data),
    causedBy: actorOf(caller),
  };
  const result = await transact(db, async (tx) => {
    await holdProject(tx, projectId);
    const recorded = await recordContactEvent(tx, projectId, given);
    if ('missing' in recorded) return recorded;
    const { id, createdAt } = recorded.event;
    const shown = presentEvent(
      {
        id,
        project_id: projectId,
        contact_id: given.contactId,
        email_id: given.emailId,
        name: given.name,
        data: given.data,
        created_at: createdAt,
      },
      project,
    );
    await keyUse?.completeIn(tx, shown, 201);
    return { shown };
  });
  if ('missing' in result) throw notFound(result.missing, result.id);
  return result.shown;
}

export const getEvents = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  summary: 'List the newest events',
  description:
    'The newest first, at most 1,000, by default 100. `contact` is null if the event has none.',
  access: 'secret',
  query: z.object({
    eventName: EventName.optional(),
    limit: queryInt(1, limits.eventListMax, limits.eventListDefault),
  }),
  response: z.object({
    events: z.array(EventAnswer.extend({ contact: z.object({ email: z.string() }).nullable() })),
  }),
  example: { response: { events: [{ ...eventExample, contact: { email: 'ada@shop.example' } }] } },
  async handle({ db, caller, query }) {
    return answerList(
      await listEvents(db, caller.projectId, query),
      (ids) => readEvents(db, ids),
      (rows) => ({
        events: rows.map((row) => ({
          ...presentEvent(row, caller.project),
          contact: row.contact_email === null ? null : { email: row.contact_email },
        })),
      }),
    );
  },
});

export const getContactEvents = endpoint({
  id: 'listContactEvents',
  method: 'GET',
  path: '/events/contact/{contactId}',
  summary: 'List the newest events of a contact',
  description: 'The newest first, at most 1,000, by default 50.',
  access: 'secret',
  params: z.object({ contactId: Uuid }),
  query: z.object({ limit: queryInt(1, limits.eventListMax, limits.contactEventsDefault) }),
  response: z.object({ events: z.array(EventAnswer) }),
  problems: ['CONTACT_NOT_FOUND'],
  example: { response: { events: [eventExample] } },
  async handle({ db, caller: { projectId, project }, params: { contactId }, query: { limit } }) {
    found('CONTACT', contactId, await findContact(db, projectId, contactId));
    return answerList(
      await listContactEvents(db, projectId, contactId, limit),
      (ids) => readEvents(db, ids),
      (rows) => ({ events: rows.map((row) => presentEvent(row, project)) }),
    );
  },
});

export const eventEndpoints = [trackEvent, getEvents, getContactEvents, ...nameEndpoints];
