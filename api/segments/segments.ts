import { z } from 'zod';
import { findEventUsers } from '../../db/reads/uses/conditions.ts';
import { countMatches } from '../../db/segments/members.ts';
import {
  type SegmentRow,
  findSegment,
  listSegments as listSegmentRows,
  readSegments,
  lockSegment,
  lockSegmentReferences,
} from '../../db/segments/segments.ts';
import { changesBetween } from '../access/changes.ts';
import { segmentSlug } from '../../domain/contact/segment-slug.ts';
import { found, invalidField, together } from '../../domain/errors.ts';
import { deleteUnusedSegment, storeNewSegment, storeSegment } from './changes.ts';
import {
  conditionFault,
  type GivenConditions,
  givenCondition,
  NewSegment,
  SegmentChange,
} from './input.ts';
import { refuseBadReferences } from './conditions.ts';
import { endpoint } from '../http/endpoint.ts';
import { requireMatch, tagged } from '../http/etag.ts';
import { answerList, ById } from '../http/schemas.ts';
import { memberEndpoints } from './members.ts';
import { Segment, presentSegment, segmentExample, segmentTag } from './record.ts';
import { type Database, transact } from '../../db/database.ts';

export const listSegments = endpoint({
  id: 'listSegments',
  method: 'GET',
  path: '/segments',
  summary: 'List all segments, newest first',
  description: 'Not in pages. `memberCount` is as of the last count.',
  access: 'secret',
  response: z.array(Segment),
  example: { response: [segmentExample] },
  async handle({ db, caller }) {
    return answerList(
      await listSegmentRows(db, caller.projectId),
      (ids) => readSegments(db, ids),
      (items) => items.map((row) => presentSegment(row, caller.project)),
    );
  },
});

export const createSegment = endpoint({
  id: 'createSegment',
  method: 'POST',
  path: '/segments',
  summary: 'Create a segment, by a condition or with hand-picked members',
  description:
    'A DYNAMIC segment needs a condition, which is counted at once; a STATIC one has members ' +
    'that are added by hand. A condition has at most 100 filters, 5 levels deep, and refers ' +
    'to at most 50 segments. CONDITION_TOO_HEAVY: counting took longer than 20 seconds.',
  access: 'secret',
  status: 201,
  body: NewSegment,
  response: Segment,
  problems: ['CONDITION_TOO_HEAVY'],
  example: {
    body: { name: segmentExample.name, filters: segmentExample.filters },
    response: segmentExample,
  },
  async check({ db, caller: { projectId }, body }) {
    await refuseBadReferences(db, projectId, givenCondition(body));
  },
  async handle({ db, caller: { projectId, project }, body, note }) {
    const given = givenCondition(body);
    const memberCount = given ? await countMatches(db, projectId, given.condition, new Date()) : 0;
    return transact(db, async (tx) => {
      const segment = await storeNewSegment(tx, projectId, body, { member_count: memberCount });
      const target = { type: 'segment', id: segment.id };
      await note({ event: 'segment.created', projectId, target }, tx);
      return presentSegment(segment, project);
    });
  },
});

export const getSegment = endpoint({
  id: 'getSegment',
  method: 'GET',
  path: '/segments/{id}',
  summary: 'Get one segment',
  description: '`memberCount` is the last count; POST /segments/{id}/refresh counts again.',
  access: 'secret',
  params: ById,
  hasEtag: true,
  response: Segment,
  problems: ['SEGMENT_NOT_FOUND'],
  example: { response: segmentExample },
  async handle({ db, caller, params: { id } }) {
    const row = found('SEGMENT', id, await findSegment(db, caller.projectId, id));
    return tagged(presentSegment(row, caller.project), segmentTag(row));
  },
});

const RenameWarning = z.object({
  code: z.literal('event_renamed'),
  eventName: z.string(),
  message: z.string(),
});

const ChangedSegment = Segment.extend({
  warnings: z.array(RenameWarning).optional().describe('Absent when there are none'),
});

export const updateSegment = endpoint({
  id: 'updateSegment',
  method: 'PATCH',
  path: '/segments/{id}',
  summary: 'Change a segment; a new condition is counted at once',
  description:
    'Fields that are left out keep their value; the type stays. `warnings` lists events with ' +
    'the former name that workflows, segments or campaigns still use. CONDITION_TOO_HEAVY: ' +
    'counting took longer than 20 seconds.',
  access: 'secret',
  params: ById,
  hasEtag: true,
  body: SegmentChange,
  response: ChangedSegment,
  problems: ['SEGMENT_NOT_FOUND', 'CONDITION_TOO_HEAVY'],
  example: {
    body: { name: 'Paying users' },
    response: { ...segmentExample, name: 'Paying users' },
  },
  async check({ db, caller: { projectId }, params: { id }, body }) {
    const { type } = found('SEGMENT', id, await findSegment(db, projectId, id));
    await together(
      () => refuseOther(type, body.type),
      () => refuseCondition(type, body),
      () => refuseBadReferences(db, projectId, givenCondition(body), id),
    );
  },
  async handle({ db, caller: { projectId, project }, params: { id }, body, note, request }) {
    const given = givenCondition(body);
    if (given && request.ifMatch !== undefined) {
      const before = found('SEGMENT', id, await findSegment(db, projectId, id));
      requireMatch(request, segmentTag(before));
    }
    // The members are counted before any lock, because counting may take seconds.
    const memberCount = given && (await countMatches(db, projectId, given.condition, new Date()));
    return transact(db, async (tx) => {
      if (given) {
        await lockSegmentReferences(tx, projectId);
        await refuseBadReferences(tx, projectId, given, id);
      }
      const locked = found('SEGMENT', id, await lockSegment(tx, projectId, id, { for: 'edit' }));
      requireMatch(request, segmentTag(locked));
      const after = await storeSegment(tx, locked, body, memberCount);
      const shown = presentSegment(after, project);
      const target = { type: 'segment', id };
      const changes = changesBetween(presentSegment(locked, project), shown, {
        fields: ['name', 'description', 'condition', 'trackMembership'],
        // The values are not kept, because a condition may contain the address of a contact.
        secret: ['condition'],
      });
      if (Object.keys(body).length > 0) {
        await note({ event: 'segment.changed', projectId, target, changes }, tx);
      }
      const warnings = await renameWarnings(tx, locked, after);
      return tagged({ ...shown, ...warnings }, segmentTag(after));
    });
  },
});

/** Returns warnings about event names that contain a segment's former name and are still used. */
async function renameWarnings(
  tx: Database,
  before: SegmentRow,
  after: SegmentRow,
): Promise<{ warnings?: z.infer<typeof RenameWarning>[] }> {
  const [old, now] = [segmentSlug(before), segmentSlug(after)];
  if (old === now || !after.track_membership) return {};
  const warnings = [];
  for (const change of ['entry', 'exit']) {
    const eventName = `segment.${old}.${change}`;
    const { workflows, segments, campaigns } = await findEventUsers(
      tx,
      after.project_id,
      eventName,
    );
    const names = [...workflows, ...segments, ...campaigns].map(({ name }) => `"${name}"`);
    if (names.length === 0) continue;
    const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
    const message =
      `The event ${eventName} is named segment.${now}.${change} from now on. ` +
      `Replace the old name in ${names.slice(0, 5).join(', ')}${more}.`;
    warnings.push({ code: 'event_renamed' as const, eventName, message });
  }
  return warnings.length === 0 ? {} : { warnings };
}

function refuseOther(type: string, given: string | undefined): void {
  if (given === undefined || given === type) return;
  const message = `The type of a segment cannot be changed; this one is ${type}. Leave \`type\` out.`;
  throw invalidField('type', 'not_allowed', message);
}

function refuseCondition(type: SegmentRow['type'], body: GivenConditions): void {
  const wrong = conditionFault(type, body, { isRequired: false });
  if (!wrong) return;
  const { field, message, params } = wrong;
  throw invalidField(
    field,
    params.code,
    message,
    'received' in params ? params.received : undefined,
  );
}

export const deleteSegment = endpoint({
  id: 'deleteSegment',
  method: 'DELETE',
  path: '/segments/{id}',
  summary: 'Delete an unused segment; its contacts stay',
  description:
    'SEGMENT_IN_USE: `details` lists the campaigns, segments and workflows that refer to it.',
  access: 'secret',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['SEGMENT_NOT_FOUND', 'SEGMENT_IN_USE'],
  async handle({ db, caller: { projectId }, params: { id }, note }) {
    await transact(db, async (tx) => {
      await deleteUnusedSegment(tx, projectId, id);
      await note({ event: 'segment.deleted', projectId, target: { type: 'segment', id } }, tx);
    });
  },
});

export const segmentEndpoints = [
  listSegments,
  createSegment,
  getSegment,
  updateSegment,
  deleteSegment,
  ...memberEndpoints,
];
