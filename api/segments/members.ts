import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { computeSegment as computeTracked } from '../../db/transactions/events/compute-segment.ts';
import { deleteMembers, recordMembers } from '../../db/transactions/contacts/change-members.ts';
import { listMembers } from '../../db/reads/segment-members.ts';
import { recordStoredCount, refreshSegment as refreshCount } from '../../db/segments/members.ts';
import { type SegmentRow, findSegment, lockSegment } from '../../db/segments/segments.ts';
import { normaliseEmail } from '../../domain/email-address.ts';
import { Problem, found, notFound } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { findContact } from '../../db/contacts/contacts.ts';
import { listSegmentsOf } from '../../db/reads/contacts/segments.ts';
import { Segment, segmentExample } from './record.ts';
import { Contact, contactExample, presentContact } from '../contacts/record.ts';
import { evidenceOf } from '../consent/evidence.ts';
import { endpoint } from '../http/endpoint.ts';
import { pageExample, pageOf, pagePosition, presentPage, ById, named } from '../http/schemas.ts';

export const listSegmentContacts = endpoint({
  id: 'listSegmentContacts',
  method: 'GET',
  path: '/segments/{id}/contacts',
  summary: 'List the current contacts of a segment',
  description:
    'A page list of at most 100 contacts a page, by default 20; the condition is evaluated ' +
    'now. CONDITION_TOO_HEAVY: evaluating it took longer than 20 seconds.',
  access: 'secret',
  params: ById,
  query: z.object({
    ...pagePosition,
    sort: z
      .enum(['createdAt', 'email'])
      .optional()
      .describe('Default: the newest contact first; for a STATIC segment, the newest member first'),
    dir: z.enum(['asc', 'desc']).optional().describe('By default asc for email, desc otherwise'),
  }),
  response: pageOf(Contact),
  problems: ['SEGMENT_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: { response: pageExample(contactExample) },
  async handle({ db, caller, params: { id }, query: { sort, ...query } }) {
    const segment = found('SEGMENT', id, await findSegment(db, caller.projectId, id));
    const dir = query.dir ?? (sort === 'email' ? 'asc' : 'desc');
    const { rows, total } = await listMembers(db, segment, { ...query, sort, dir }, new Date());
    return presentPage(
      rows.map((row) => presentContact(row, caller.project)),
      total,
      query,
    );
  },
});

const Emails = z.array(z.string()).min(1).max(limits.segmentMembersAtOnce);

/**
 * Returns the valid addresses of `given`, by their stored form, and the invalid addresses
 * unchanged.
 */
function readEmails(given: readonly string[]) {
  const spellings = new Map<string, string[]>();
  const unreadable: string[] = [];
  for (const spelling of new Set(given)) {
    const email = normaliseEmail(spelling);
    if (email === null) unreadable.push(spelling);
    else spellings.set(email, [...(spellings.get(email) ?? []), spelling]);
  }
  return { spellings, unreadable };
}

/**
 * Locks a STATIC segment.
 * @throws Problem SEGMENT_NOT_FOUND, SEGMENT_NOT_STATIC
 */
async function lockStatic(tx: Database, projectId: string, id: string): Promise<SegmentRow> {
  const row = await lockSegment(tx, projectId, id, { for: 'edit' });
  const segment = found('SEGMENT', id, row);
  if (segment.type !== 'STATIC') {
    const message = `Only a STATIC segment has members that can be added or removed; this one is ${segment.type}.`;
    throw new Problem('SEGMENT_NOT_STATIC', { message });
  }
  return segment;
}

const { id, name, type } = Segment.shape;
const SegmentOfContact = named('SegmentOfContact', { id, name, type });

export const listContactSegments = endpoint({
  id: 'listContactSegments',
  method: 'GET',
  path: '/contacts/{id}/segments',
  summary: 'List the segments that a contact is in now, by name',
  description:
    'The condition of a DYNAMIC segment is evaluated. CONDITION_TOO_HEAVY: that took longer than ' +
    '20 seconds.',
  access: 'secret',
  params: ById,
  response: z.array(SegmentOfContact),
  problems: ['CONTACT_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: {
    response: [{ id: segmentExample.id, name: segmentExample.name, type: 'DYNAMIC' as const }],
  },
  async handle({ db, caller: { projectId }, params: { id } }) {
    const contact = found('CONTACT', id, await findContact(db, projectId, id));
    return listSegmentsOf(db, contact, new Date());
  },
});

export const addSegmentMembers = endpoint({
  id: 'addSegmentMembers',
  method: 'POST',
  path: '/segments/{id}/members',
  summary: 'Add contacts to a STATIC segment; records no events',
  description:
    'At most 500 addresses. `notFound` lists those without a contact, as sent, unless ' +
    '`createMissing` creates one for each. SEGMENT_NOT_STATIC: the segment has a condition.',
  access: 'secret',
  params: ById,
  body: z.object({
    emails: Emails,
    createMissing: z.boolean().default(false),
    subscribed: z
      .boolean()
      .default(true)
      .describe('Subscription of contacts that this request creates'),
  }),
  response: z.object({ added: z.int(), created: z.int(), notFound: z.array(z.string()) }),
  problems: ['SEGMENT_NOT_FOUND', 'SEGMENT_NOT_STATIC'],
  example: {
    body: { emails: ['ada@shop.example', 'no@shop.example'] },
    response: { added: 1, created: 0, notFound: ['no@shop.example'] },
  },
  async handle({ db, caller, request, params: { id }, body }) {
    const { spellings, unreadable } = readEmails(body.emails);
    const origin = { source: 'api' as const, ...evidenceOf(caller, request) };
    const create = body.createMissing ? { subscribed: body.subscribed, origin } : undefined;
    const members = await transact(db, async (tx) => {
      const segment = await lockStatic(tx, caller.projectId, id);
      return recordMembers(tx, segment, [...spellings.keys()], { create });
    });
    for (const email of members.found) spellings.delete(email);
    const missing = new Set([...unreadable, ...[...spellings.values()].flat()]);
    return {
      added: members.found.length,
      created: members.created,
      notFound: [...new Set(body.emails)].filter((spelling) => missing.has(spelling)),
    };
  },
});

export const removeSegmentMembers = endpoint({
  id: 'removeSegmentMembers',
  method: 'DELETE',
  path: '/segments/{id}/members',
  summary: 'Remove contacts from a STATIC segment; records no events',
  description:
    'At most 500 addresses; the contacts stay. SEGMENT_NOT_STATIC: the segment has a condition.',
  access: 'secret',
  params: ById,
  body: z.object({ emails: Emails }),
  response: z.object({ removed: z.int() }),
  problems: ['SEGMENT_NOT_FOUND', 'SEGMENT_NOT_STATIC'],
  example: { body: { emails: ['ada@shop.example'] }, response: { removed: 1 } },
  async handle({ db, caller, params: { id }, body }) {
    const emails = [...readEmails(body.emails).spellings.keys()];
    const removed = await transact(db, async (tx) => {
      const segment = await lockStatic(tx, caller.projectId, id);
      return deleteMembers(tx, segment, emails);
    });
    return { removed };
  },
});

export const computeSegment = endpoint({
  id: 'computeSegment',
  method: 'POST',
  path: '/segments/{id}/compute',
  summary: 'Compute the members of a tracked segment, with an event for each change',
  description:
    'Returns how many entered and left since the last time. A STATIC segment is only ' +
    'counted. SEGMENT_NOT_TRACKED: `trackMembership` is off. CONDITION_TOO_HEAVY: the ' +
    'condition took longer than 20 seconds.',
  access: 'secret',
  params: ById,
  response: z.object({ added: z.int(), removed: z.int(), total: z.int() }),
  problems: ['SEGMENT_NOT_FOUND', 'SEGMENT_NOT_TRACKED', 'CONDITION_TOO_HEAVY'],
  example: { response: { added: 1, removed: 1, total: 3 } },
  async handle({ db, caller, params: { id } }) {
    const segment = found('SEGMENT', id, await findSegment(db, caller.projectId, id));
    if (segment.type === 'STATIC') {
      return { added: 0, removed: 0, total: await recordStoredCount(db, id) };
    }
    if (!segment.track_membership) throw new Problem('SEGMENT_NOT_TRACKED');
    const computed = await computeTracked(db, segment, { now: new Date() });
    if (!computed) throw notFound('SEGMENT', id);
    return computed;
  },
});

export const refreshSegment = endpoint({
  id: 'refreshSegment',
  method: 'POST',
  path: '/segments/{id}/refresh',
  summary: 'Count the members of a segment; records no events',
  description: 'CONDITION_TOO_HEAVY: counting took longer than 20 seconds.',
  access: 'secret',
  params: ById,
  response: z.object({ memberCount: z.int() }),
  problems: ['SEGMENT_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: { response: { memberCount: 128 } },
  async handle({ db, caller, params: { id } }) {
    const segment = found('SEGMENT', id, await findSegment(db, caller.projectId, id));
    return { memberCount: await refreshCount(db, segment, new Date()) };
  },
});

export const memberEndpoints = [
  listSegmentContacts,
  addSegmentMembers,
  removeSegmentMembers,
  computeSegment,
  refreshSegment,
];
