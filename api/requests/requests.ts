import { z } from 'zod';
import { findRequest, listRequests, type RequestSearch } from '../../db/requests/requests.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { found } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import type { Services } from '../services/services.ts';
import { addressOf } from './recording.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  cursorListOf,
  cursorQuery,
  Moment,
  presentCursorList,
  queryInt,
  textRead,
  time,
  Uuid,
} from '../http/schemas.ts';
import {
  detailExample,
  idempotencyUses,
  LoggedRequest,
  LoggedRequestDetail,
  presentDetail,
  readRequests,
  requestExample,
} from './record.ts';

/** The request log of a project. */

const newestFirst: CursorForm = { order: 'requests', value: 'time' };

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

const Status = textRead(
  readStatus,
  'invalid_string',
  'Must be a status, such as 422, or a class, such as 4xx.',
).describe('A status, or a class such as `4xx`');

/** Returns the lowest and highest status that a filter matches. */
function readStatus(text: string): [from: number, to: number] | null {
  const [, first, rest] = /^([1-5])(\d\d|xx)$/i.exec(text) ?? [];
  if (!first || !rest) return null;
  if (/^xx$/i.test(rest)) return [Number(first) * 100, Number(first) * 100 + 99];
  return [Number(text), Number(text)];
}

const KeyId = textRead(
  (text) => (['secret', 'public'].includes(text) || isUuid(text) ? text.toLowerCase() : null),
  'invalid_string',
  'Must be "secret", "public" or the id of a named key.',
).describe('Id of a named key; `secret` or `public` for a key of the pair');

const Ip = z
  .union([z.ipv4(), z.ipv6()])
  .transform(addressOf)
  .meta({ type: 'string', description: 'An IPv4 or IPv6 address' });

const getRequests = endpoint({
  id: 'listRequests',
  method: 'GET',
  path: '/requests',
  summary: 'List the requests of the project, newest first',
  description:
    'A cursor list of the requests with a key of the project, or of its members, also refused ' +
    'ones. All filters must hold. A request is listed within 10 seconds, for REQUEST_LOG_DAYS. ' +
    'Only a sample of the successfully tracked events is listed: see `sample`. `total` counts up to ' +
    '10,000 matches on the first page and is 0 on later ones. STATS_TOO_HEAVY: the search took ' +
    'longer than 5 seconds; ask for a shorter period with `from` and `to`.',
  access: 'secret',
  query: cursorQuery(newestFirst).extend({
    method: z.enum(methods).optional().describe('The method as it was sent'),
    route: z.string().min(1).max(200).optional().describe('The path as the reference has it'),
    status: Status.optional(),
    errorCode: z
      .string()
      .regex(/^[A-Z][A-Z_]{0,99}$/)
      .optional()
      .describe('A code of an error, such as VALIDATION_ERROR'),
    keyId: KeyId.optional(),
    userId: Uuid.optional(),
    ip: Ip.optional(),
    minMs: queryInt(0, 2_147_483_647, 0).describe('Only requests that took so many milliseconds'),
    idempotency: z.enum(idempotencyUses).optional().describe('How the Idempotency-Key was used'),
    from: Moment.optional().describe('Only requests at this time or later'),
    to: Moment.optional().describe('Only requests before this time'),
  }),
  response: cursorListOf(LoggedRequest),
  problems: ['STATS_TOO_HEAVY'],
  example: { response: { data: [requestExample], hasMore: false, total: 1 } },
  async handle({ db, config, caller: { project }, query }) {
    const { cursor, limit, keyId, userId, minMs, ...filters } = query;
    const actors = [...(keyId ? [`key:${keyId}`] : []), ...(userId ? [`user:${userId}`] : [])];
    const search: RequestSearch = { ...filters, actors, minMs: minMs || undefined };
    const page = { since: oldest(config), after: cursor, limit: limit + 1 };
    const { rows, total } = await listRequests(db, project.publicId, search, page);
    return presentCursorList(rows, {
      form: newestFirst,
      limit,
      total,
      position: (row) => ({ value: time(row.at), id: row.id }),
      present: await readRequests(db, rows),
    });
  },
});

const getRequest = endpoint({
  id: 'getRequest',
  method: 'GET',
  path: '/requests/{requestId}',
  summary: 'Get a request, with the invalid fields of a 422',
  description:
    'If a client has used an X-Request-ID several times, this is its newest request. ' +
    'REQUEST_NOT_FOUND: the project has no such request in its log.',
  access: 'secret',
  params: z.object({
    requestId: z.string().min(1).max(128).describe('The X-Request-ID of the response'),
  }),
  response: LoggedRequestDetail,
  problems: ['REQUEST_NOT_FOUND'],
  example: { response: detailExample },
  async handle({ db, config, caller: { project }, params: { requestId } }) {
    const search = { since: oldest(config), requestId };
    const row = found('REQUEST', requestId, await findRequest(db, project.publicId, search));
    return presentDetail(db, row);
  },
});

/** Returns the time from which on requests are shown. Older requests are dropped day by day. */
function oldest({ requestLog: { days } }: Services['config']): Date {
  return new Date(Date.now() - days * 86_400_000);
}

export const requestEndpoints = [getRequests, getRequest];
