import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import { withinTime } from '../bounded.ts';
import { columnList, columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { RequestLog } from '../tables.ts';

/** Reads the stored requests of a project, for its members and keys. */

export type RequestRow = Selectable<RequestLog>;

/** Filters of a search for requests; absent filters do not apply. */
export interface RequestSearch {
  method?: string | undefined;
  route?: string | undefined;
  /** The first and the last status that match. */
  status?: readonly [from: number, to: number] | undefined;
  errorCode?: string | undefined;
  /** A request matches only if its caller equals each of these actors. */
  actors: readonly string[];
  ip?: string | undefined;
  minMs?: number | undefined;
  idempotency?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Maximum milliseconds of a search. Only filters that few of many requests match take long. */
const searchMs = 5_000;
/** Number up to which matches are counted. */
const countedMax = 10_000;

/**
 * Returns the matching requests of a project since a time, newest first, and their number up to
 * 10,000 (0 on later pages).
 * @throws Problem STATS_TOO_HEAVY when a search takes longer than `searchMs`
 */
export async function listRequests(
  db: Database,
  ownerId: string,
  search: RequestSearch,
  { since, after, limit }: { since: Date; after?: Position | undefined; limit: number },
): Promise<{ rows: RequestRow[]; total: number }> {
  const matching = sql.join(conditions(ownerId, since, search), sql` and `);
  const place = after
    ? sql`(at, id) < (${after.value}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  return withinTime(db, { ms: searchMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const { rows } = await sql<RequestRow>`
      select ${columnList('request_log')} from request_log where ${matching} and ${place}
        order by at desc, id desc limit ${limit}`.execute(tx);
    if (after) return { rows, total: 0 };
    const counted = await sql<{ total: number }>`
      select count(*)::int as total from (
        select from request_log where ${matching} limit ${countedMax}) counted`.execute(tx);
    return { rows, total: counted.rows[0]?.total ?? 0 };
  });
}

/** Returns the newest request with this request id. */
export async function findRequest(
  db: Database,
  ownerId: string,
  { since, requestId }: { since: Date; requestId: string },
): Promise<RequestRow | undefined> {
  return db
    .selectFrom('request_log')
    .select(columnsOf('request_log'))
    .where('owner_id', '=', ownerId)
    .where('request_id', '=', requestId)
    .where('at', '>=', since)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

function conditions(ownerId: string, since: Date, search: RequestSearch): RawBuilder<unknown>[] {
  const { status, errorCode, minMs, from, to } = search;
  // A literal condition, because the index of failed requests contains only these.
  const areFailed = errorCode !== undefined || (status !== undefined && status[0] >= 400);
  return [
    sql`owner_id = ${ownerId}`,
    sql`at >= ${since}`,
    ...when(from, (moment) => sql`at >= ${moment}`),
    ...when(to, (moment) => sql`at < ${moment}`),
    ...(areFailed ? [sql`status >= 400`] : []),
    ...when(status, ([first, last]) => sql`status between ${first} and ${last}`),
    ...when(errorCode, (code) => sql`error_code = ${code}`),
    ...when(search.method, (method) => sql`method = ${method}`),
    ...when(search.route, (route) => sql`route = ${route}`),
    ...search.actors.map((actor) => sql`actor = ${actor}`),
    ...when(search.ip, (ip) => sql`ip = ${ip}`),
    ...when(minMs, (ms) => sql`ms >= ${ms}`),
    ...when(search.idempotency, (use) => sql`idempotency = ${use}`),
  ];
}

function when<T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>) {
  return value === undefined ? [] : [condition(value)];
}
