import { z } from 'zod';
import { readSnapshot } from '../../db/reads/contacts/export.ts';
import {
  listSecurityEvents,
  readSecurityEvents,
  type SecurityLogOwner,
  type SecuritySearch,
} from '../../db/accounts/security-search.ts';
import type { Database } from '../../db/database.ts';
import type { CursorForm, Position } from '../../domain/cursor.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Project } from '../access/caller.ts';
import { Answer, endpoint } from '../http/endpoint.ts';
import {
  cursorListOf,
  cursorQuery,
  Moment,
  presentCursorList,
  textRead,
  time,
} from '../http/schemas.ts';
import { readSecurityRecords, securityEventExample, SecurityEventRecord } from './record.ts';

/** The security log of a project, and a user's own events. */

const newestFirst: CursorForm = { order: 'security-events', value: 'time' };
/** Maximum number of names in a filter. */
const namesMax = 50;

const Events = textRead(
  readEvents,
  'invalid_string',
  `Must be 1 to ${namesMax} names such as member.added, or prefixes such as member.*, separated by commas.`,
).describe('Names, or prefixes such as `member.*`, separated by commas');

function readEvents(text: string): string[] | null {
  const names = text.split(',').map((name) => name.trim());
  const isName = (name: string) => /^[a-z_]{1,50}(?:\.[a-z_]{1,50})?(?:\.\*)?$/.test(name);
  return names.length <= namesMax && names.every(isName) ? names : null;
}

const ActorId = textRead(
  (text) => (['secret', 'public'].includes(text) || isUuid(text) ? text.toLowerCase() : null),
  'invalid_string',
  'Must be "secret", "public" or the id of a user or named key.',
).describe('Id of a user or named key; `secret` or `public` for a key of the pair');

const filters = {
  event: Events.optional(),
  actorId: ActorId.optional(),
  targetId: z.string().min(1).max(200).optional().describe('Id of the changed record'),
  from: Moment.optional().describe('Only events at this time or later'),
  to: Moment.optional().describe('Only events before this time'),
};

/** Replaces the public id of the project in a filter by the id of its row. */
function inside(search: SecuritySearch, { id, publicId }: Project): SecuritySearch {
  return search.targetId === publicId ? { ...search, targetId: id } : search;
}

/** Reads one page of a log. */
async function pageOf(
  db: Database,
  owner: SecurityLogOwner & { publicId: string | null },
  given: { cursor: Position | undefined; limit: number; search: SecuritySearch },
) {
  const { cursor, limit, search } = given;
  const page = { after: cursor, limit: limit + 1 };
  const { rows, total } = await listSecurityEvents(db, owner, search, page);
  return presentCursorList(rows, {
    form: newestFirst,
    limit,
    total,
    position: (row) => ({ value: time(row.created_at), id: row.id }),
    present: await readSecurityRecords(db, rows, owner.publicId),
  });
}

const getSecurityEvents = endpoint({
  id: 'listSecurityEvents',
  method: 'GET',
  path: '/security-events',
  summary: 'List the security events of the project, newest first',
  description:
    'A cursor list of who changed what, from where. All filters must hold. Events are kept for ' +
    'SECURITY_LOG_RETENTION_DAYS, however many come later. `total` counts up to 10,000 matches on ' +
    'the first page and is 0 on later ones. STATS_TOO_HEAVY: the search took longer than ' +
    '5 seconds; ask for a shorter period with `from` and `to`.',
  access: 'secret',
  role: 'ADMIN',
  query: cursorQuery(newestFirst).extend(filters),
  response: cursorListOf(SecurityEventRecord),
  problems: ['STATS_TOO_HEAVY'],
  example: { response: { data: [securityEventExample], hasMore: false, total: 1 } },
  async handle({ db, caller: { projectId, project }, query }) {
    const { cursor, limit, ...search } = query;
    const owner = { projectId, publicId: project.publicId };
    return pageOf(db, owner, { cursor, limit, search: inside(search, project) });
  },
});

const getMySecurityEvents = endpoint({
  id: 'listMySecurityEvents',
  method: 'GET',
  path: '/users/@me/security-events',
  summary: "List the logged-in user's own security events, newest first",
  description:
    'Logins, refusals and changes of the account, from where. `total` counts up to 10,000 on the ' +
    'first page and is 0 on later ones.',
  access: 'session',
  query: cursorQuery(newestFirst),
  response: cursorListOf(SecurityEventRecord),
  problems: ['STATS_TOO_HEAVY'],
  example: { response: { data: [securityEventExample], hasMore: false, total: 1 } },
  async handle({ db, caller: { userId }, query: { cursor, limit } }) {
    return pageOf(db, { userId, publicId: null }, { cursor, limit, search: {} });
  },
});

const exportSecurityEvents = endpoint({
  id: 'exportSecurityEvents',
  method: 'GET',
  path: '/security-events/export',
  summary: 'Export the security events of the project, oldest first',
  description:
    'One JSON object a line, with the filters and the fields of `GET /security-events`, as of one ' +
    'moment. The response is streamed; one that breaks off is incomplete. It breaks off when the ' +
    'client reads nothing for five seconds. A project has two exports at a time; further ones ' +
    'wait. SERVICE_UNAVAILABLE: this export has waited too long.',
  access: 'secret',
  role: 'ADMIN',
  contentType: 'application/x-ndjson',
  query: z.object(filters),
  response: z.string(),
  example: { response: `${JSON.stringify(securityEventExample)}\n` },
  async handle({ db, exports: slots, caller: { project }, query }) {
    const end = new AbortController();
    const room = { slots, projectId: project.id, giveWay: () => end.abort() };
    const text = readSnapshot(db, room, (snapshot) => lines(snapshot, project, query));
    return new Answer('', { text, signal: end.signal });
  },
});

async function* lines(snapshot: Database, project: Project, query: SecuritySearch) {
  const search = inside(query, project);
  for await (const rows of readSecurityEvents(snapshot, project.id, search)) {
    const shown = await readSecurityRecords(snapshot, rows, project.publicId);
    yield rows.map((row) => `${JSON.stringify(shown(row))}\n`).join('');
  }
}

export const securityEventEndpoints = [
  getSecurityEvents,
  exportSecurityEvents,
  getMySecurityEvents,
];
