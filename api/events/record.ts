import type { Selectable } from 'kysely';
import { z } from 'zod';
import type { Event } from '../../db/tables.ts';
import { Contact } from '../contacts/record.ts';
import { exampleOf, present } from '../http/record.ts';
import type { OwnerProject } from '../access/caller.ts';
import { named, ofProject, Time } from '../http/schemas.ts';

export const EventAnswer = named('Event', {
  id: z.uuid().meta({ examples: ['e1000000-0000-4000-8000-000000000001'] }),
  name: z.string().meta({ examples: ['order_placed'] }),
  data: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ examples: [{ total: 42 }] }),
  projectId: ofProject.projectId,
  contactId: Contact.shape.id.nullable(),
  emailId: z.uuid().nullable(),
  createdAt: Time,
});

export const eventExample = { ...exampleOf(EventAnswer), contactId: exampleOf(Contact.shape.id) };

export function presentEvent(
  row: Omit<Selectable<Event>, 'recorded_at' | 'data' | 'tx'> & { data: unknown },
  { publicId: projectId }: OwnerProject,
) {
  return present(EventAnswer, row, { projectId, data: row.data as Record<string, unknown> | null });
}
