import { z } from 'zod';
import { listEvents } from '../db/events.ts';
import { limits } from '../domain/limits.ts';
import { endpoint } from './endpoint.ts';
import { queryInt, Time, time } from './schemas.ts';

const EventAnswer = z.object({
  id: z.uuid(),
  name: z.string(),
  data: z.record(z.string(), z.unknown()).nullable(),
  projectId: z.uuid(),
  contactId: z.uuid().nullable(),
  emailId: z.uuid().nullable(),
  createdAt: Time,
});

export const getEvents = endpoint({
  id: 'listEvents',
  method: 'GET',
  path: '/events',
  tag: 'Events',
  summary: 'List the newest events',
  access: 'secret',
  query: z.object({
    eventName: z.string().optional(),
    limit: queryInt(1, limits.eventListMax, limits.eventListDefault),
  }),
  response: z.object({
    events: z.array(EventAnswer.extend({ contact: z.object({ email: z.string() }).nullable() })),
  }),
  example: {
    response: {
      events: [
        {
          id: 'e1000000-0000-4000-8000-000000000001',
          name: 'order_placed',
          data: { total: 42 },
          projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
          contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
          emailId: null,
          createdAt: '2026-11-21T08:30:00.000Z',
          contact: { email: 'ada@shop.example' },
        },
      ],
    },
  },
  async handle({ db, caller, query }) {
    const rows = await listEvents(db, caller.projectId, query);
    return { events: rows.map(presentEvent) };
  },
});

export const eventEndpoints = [getEvents];

function presentEvent(row: Awaited<ReturnType<typeof listEvents>>[number]) {
  return {
    id: row.id,
    name: row.name,
    data: row.data as Record<string, unknown> | null,
    projectId: row.project_id,
    contactId: row.contact_id,
    emailId: row.email_id,
    createdAt: time(row.created_at),
    contact: row.contact_email === null ? null : { email: row.contact_email },
  };
}
