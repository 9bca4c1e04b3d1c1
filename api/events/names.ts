import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { countEvents, listEventCounts, listEventNames } from '../../db/events/statistics.ts';
import { deleteEvents } from '../../db/transactions/events/delete-events.ts';
import { findEventUsers } from '../../db/reads/uses/conditions.ts';
import { Problem } from '../../domain/errors.ts';
import { isReservedEvent } from '../../domain/event-names.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { periodOf, rangeQuery } from '../activity/date-range.ts';
import { endpoint } from '../http/endpoint.ts';
import { listed, More } from '../http/uses.ts';
import { JsonObject } from '../http/schemas.ts';

const EventByName = z.object({ eventName: EventName });

const Named = z.object({ id: z.uuid(), name: z.string() });

export const getEventNames = endpoint({
  id: 'listEventNames',
  method: 'GET',
  path: '/events/names',
  summary: 'List the names of all events, the most frequent first',
  description: 'System events are included.',
  access: 'secret',
  response: z.object({ eventNames: z.array(z.string()) }),
  example: { response: { eventNames: ['email.sent', 'order_placed'] } },
  async handle({ db, caller }) {
    return { eventNames: await listEventNames(db, caller.projectId) };
  },
});

export const getEventStats = endpoint({
  id: 'getEventStats',
  method: 'GET',
  path: '/events/stats',
  summary: 'Count events by name, by default those of the last 30 days',
  description: 'The range is from `startDate` to `endDate`, by default until now.',
  access: 'secret',
  query: rangeQuery({}),
  response: z.array(z.object({ name: z.string(), count: z.int() })),
  example: { response: [{ name: 'order_placed', count: 3 }] },
  async handle({ db, caller, query }) {
    return listEventCounts(db, caller.projectId, periodOf(query, new Date()));
  },
});

export const getEventUsage = endpoint({
  id: 'getEventUsage',
  method: 'GET',
  path: '/events/{eventName}/usage',
  summary: 'List the uses of an event, and how often it was recorded',
  description:
    'Names the segments, workflows and campaigns that use the event, 100 of each, and counts ' +
    'it over all time. `canDelete` is false for used events and for system events.',
  access: 'secret',
  params: EventByName,
  response: z.object({
    usedInSegments: z.array(Named.extend({ condition: JsonObject })),
    usedInWorkflows: z.array(Named),
    usedInCampaigns: z.array(Named),
    more: More,
    totalCount: z.int(),
    uniqueContacts: z.int(),
    canDelete: z.boolean(),
  }),
  example: {
    response: {
      usedInSegments: [],
      usedInWorkflows: [{ id: 'bb000000-0000-4000-8000-000000000001', name: 'Onboarding' }],
      usedInCampaigns: [],
      totalCount: 812,
      uniqueContacts: 204,
      canDelete: false,
    },
  },
  async handle({ db, caller: { projectId }, params: { eventName } }) {
    const users = await usersOf(db, projectId, eventName);
    const { total, contacts } = await countEvents(db, projectId, eventName);
    return {
      ...users.lists,
      totalCount: total,
      uniqueContacts: contacts,
      canDelete: !users.some && !isReservedEvent(eventName),
    };
  },
});

export const deleteEvent = endpoint({
  id: 'deleteEvent',
  method: 'DELETE',
  path: '/events/{eventName}',
  summary: 'Delete all events of an unused name',
  description:
    'Returns the number of deleted events. RESERVED_EVENT: it is a system event. ' +
    'EVENT_IN_USE: `details` lists the segments, workflows and campaigns that use it.',
  access: 'secret',
  params: EventByName,
  response: z.object({ deletedCount: z.int() }),
  problems: ['RESERVED_EVENT', 'EVENT_IN_USE'],
  example: { response: { deletedCount: 42 } },
  async handle({ db, caller: { projectId }, params: { eventName }, note }) {
    if (isReservedEvent(eventName)) throw new Problem('RESERVED_EVENT');
    const users = await usersOf(db, projectId, eventName);
    if (users.some) throw new Problem('EVENT_IN_USE', { details: users.lists });
    // If another request adds a use of the name now, it is not detected. That is harmless, because
    // the use is about future events, and only past events are deleted.
    const target = { type: 'event', id: eventName };
    const deletedCount = await deleteEvents(db, projectId, eventName, (tx) =>
      note({ event: 'events.deleted', projectId, target }, tx),
    );
    return { deletedCount };
  },
});

export const nameEndpoints = [getEventNames, getEventStats, getEventUsage, deleteEvent];

async function usersOf(db: Database, projectId: string, eventName: string) {
  const { segments, workflows, campaigns } = await findEventUsers(db, projectId, eventName);
  return {
    lists: listed({
      usedInSegments: segments.map((row) => ({ ...row, condition: { ...row.condition } })),
      usedInWorkflows: workflows,
      usedInCampaigns: campaigns,
    }),
    some: segments.length + workflows.length + campaigns.length > 0,
  };
}
