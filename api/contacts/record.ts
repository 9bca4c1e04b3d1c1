import { z } from 'zod';
import type { ContactRow } from '../../db/contacts/contacts.ts';
import { etagOf } from '../http/etag.ts';
import { exampleOf, present } from '../http/record.ts';
import type { OwnerProject } from '../access/caller.ts';
import { JsonObject, named, ofProject } from '../http/schemas.ts';

/** The state of an opt-in request. */
export const ConsentState = z.enum(['pending', 'confirmed', 'expired']);

export const Contact = named('Contact', {
  id: z.uuid().meta({ examples: ['5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11'] }),
  email: z.string().meta({ examples: ['ada@shop.example'] }),
  subscribed: z.boolean().meta({ examples: [true] }),
  // `z.record` would drop a key named `__proto__`.
  data: JsonObject.nullable().meta({
    type: ['object', 'null'],
    additionalProperties: true,
    examples: [{ plan: 'pro', seats: 4 }],
  }),
  consent: ConsentState.optional().describe(
    'The state of the newest opt-in request; absent: there was none',
  ),
  ...ofProject,
});

export function presentContact(row: ContactRow, { publicId: projectId }: OwnerProject) {
  const consent = (row.consent ?? undefined) as z.input<typeof ConsentState> | undefined;
  return present(Contact, row, { projectId, consent });
}

export function contactTag({ email, subscribed, data }: ContactRow): string {
  return etagOf({ email, subscribed, data });
}

export const contactExample = exampleOf(Contact);
