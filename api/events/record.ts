import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Event } from '../../db/tables.ts';
import { Time, time } from '../http/schemas.ts';

/** The record of an event as the API answers it. */

export const tag = 'Events';

export const EventAnswer = z.object({
  id: z.uuid(),
  name: z.string(),
  data: z.record(z.string(), z.unknown()).nullable(),
  projectId: z.uuid(),
  contactId: z.uuid().nullable(),
  emailId: z.uuid().nullable(),
  createdAt: Time,
});

export const eventExample = {
  id: 'e1000000-0000-4000-8000-000000000001',
  name: 'order_placed',
  data: { total: 42 },
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  contactId: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11',
  emailId: null,
  createdAt: '2026-11-21T08:30:00.000Z',
};

export function presentEvent(
  row: Omit<Selectable<Event>, 'recorded_at' | 'data'> & { data: unknown },
): z.input<typeof EventAnswer> {
  return {
    id: row.id,
    name: row.name,
    data: row.data as Record<string, unknown> | null,
    projectId: row.project_id,
    contactId: row.contact_id,
    emailId: row.email_id,
    createdAt: time(row.created_at),
  };
}
