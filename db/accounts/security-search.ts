import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import { withinTime } from '../bounded.ts';
import { columnList } from '../columns.ts';
import type { Database } from '../database.ts';
import type { SecurityEvent } from '../tables.ts';

/**
 * Searches security events, for the administrators of a project or for the user who caused them.
 */

export type SecurityEventRow = Selectable<SecurityEvent>;

/** The log to search: the log of a project, or a user's own events. */
export type SecurityLogOwner = { projectId: string } | { userId: string };

/** Filters of a search; absent filters do not apply. */
export interface SecuritySearch {
  /** Event names, or prefixes that end in `.*`; an event must match one of them. */
  event?: readonly string[] | undefined;
  /** Id of a user or named key; `secret` or `public` for the project's own two keys. */
  actorId?: string | undefined;
  targetId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Maximum milliseconds of a search. Only a combination of several filters can take long. */
const searchMs = 5_000;
/** Number up to which matches are counted. */
const countedMax = 10_000;
/** Number of events that an export reads in one query. */
const exportedMax = 500;

/**
 * Returns the matching events of a log, newest first, and their number up to 10,000 (0 on later
 * pages).
 * @throws Problem STATS_TOO_HEAVY when a search takes longer than `searchMs`
 */
export async function listSecurityEvents(
  db: Database,
  owner: SecurityLogOwner,
  search: SecuritySearch,
  { after, limit }: { after?: Position | undefined; limit: number },
): Promise<{ rows: SecurityEventRow[]; total: number }> {
  const matching = matchingIn(owner, search);
  const place = after
    ? sql`(created_at, id) < (${after.value}::timestamptz, ${after.id}::uuid)`
    : sql`true`;
  return withinTime(db, { ms: searchMs, problem: 'STATS_TOO_HEAVY' }, async (tx) => {
    const { rows } = await sql<SecurityEventRow>`
      select ${columnList('security_event')} from security_event where ${matching} and ${place}
        order by created_at desc, id desc limit ${limit}`.execute(tx);
    if (after) return { rows, total: 0 };
    const counted = await sql<{ total: number }>`
      select count(*)::int as total from (
        select from security_event where ${matching} limit ${countedMax}) counted`.execute(tx);
    return { rows, total: counted.rows[0]?.total ?? 0 };
  });
}

/** Yields the matching events of a project, oldest first, page by page. */
export async function* readSecurityEvents(
  snapshot: Database,
  projectId: string,
  search: SecuritySearch,
): AsyncGenerator<SecurityEventRow[], void, undefined> {
  const matching = matchingIn({ projectId }, search);
  for (let last: SecurityEventRow | undefined; ;) {
    const place = last ? sql`(created_at, id) > (${last.created_at}, ${last.id}::uuid)` : sql`true`;
    const { rows } = await sql<SecurityEventRow>`
      select ${columnList('security_event')} from security_event where ${matching} and ${place}
        order by created_at, id limit ${exportedMax}`.execute(snapshot);
    if (rows.length > 0) yield rows;
    if (rows.length < exportedMax) return;
    last = rows.at(-1);
  }
}

function matchingIn(owner: SecurityLogOwner, search: SecuritySearch): RawBuilder<unknown> {
  const { event, actorId, targetId, from, to } = search;
  return sql.join(
    [
      'projectId' in owner
        ? sql`project_id = ${owner.projectId}`
        : sql`user_id = ${owner.userId} and project_id is null`,
      ...(event ? [matchingNames(event)] : []),
      ...(actorId ? [sql`actor in (${`user:${actorId}`}, ${`key:${actorId}`})`] : []),
      ...(targetId ? [sql`target_id = ${targetId}`] : []),
      ...(from ? [sql`created_at >= ${from}`] : []),
      ...(to ? [sql`created_at < ${to}`] : []),
    ],
    sql` and `,
  );
}

function matchingNames(patterns: readonly string[]): RawBuilder<unknown> {
  const names = patterns.filter((pattern) => !pattern.endsWith('.*'));
  const prefixes = patterns.filter((pattern) => pattern.endsWith('.*'));
  // In the collation "C", "/" is the next character after ".", so it bounds the names with a
  // prefix.
  const ranges = prefixes.map((pattern) => {
    const prefix = pattern.slice(0, -2);
    return sql`event >= ${`${prefix}.`} and event < ${`${prefix}/`}`;
  });
  const either = [...(names.length > 0 ? [sql`event = any(${names})`] : []), ...ranges];
  return sql`(${sql.join(either, sql` or `)})`;
}
