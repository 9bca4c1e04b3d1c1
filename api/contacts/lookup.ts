import { z } from 'zod';
import { listKnownEmails } from '../../db/contacts/contacts.ts';
import { normaliseEmail } from '../../domain/email-address.ts';
import { limits } from '../../domain/limits.ts';
import { endpoint } from '../http/endpoint.ts';

export const lookUpContacts = endpoint({
  id: 'lookUpContacts',
  method: 'POST',
  path: '/contacts/lookup',
  summary: 'Find the addresses that have a contact; returns them as sent',
  description:
    'At most 500 addresses. An invalid address counts as not found. Idempotency-Key is ignored.',
  access: 'secret',
  idempotent: false,
  body: z.object({ emails: z.array(z.string()).min(1).max(limits.lookupEmails) }),
  response: z.object({ found: z.array(z.string()), notFound: z.array(z.string()) }),
  example: {
    body: { emails: ['ADA@shop.example', 'no@shop.example'] },
    response: { found: ['ADA@shop.example'], notFound: ['no@shop.example'] },
  },
  async handle({ db, caller, body }) {
    const given = body.emails.map((spelling) => ({ spelling, email: normaliseEmail(spelling) }));
    const emails = given.flatMap(({ email }) => email ?? []);
    const known = new Set(await listKnownEmails(db, caller.projectId, emails));
    const isKnown = (email: string | null) => email !== null && known.has(email);
    return {
      found: given.filter(({ email }) => isKnown(email)).map(({ spelling }) => spelling),
      notFound: given.filter(({ email }) => !isKnown(email)).map(({ spelling }) => spelling),
    };
  },
});
