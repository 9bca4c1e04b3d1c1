import { sql } from 'kysely';
import { references, snakeCase } from '../columns.ts';
import type { Database } from '../database.ts';

/** Stores requests, and deletes the oldest of a project that has too many. */

/** A request as a row of `request_log`. */
export interface StoredRequest {
  /** The public id of the project. */
  ownerId: string;
  at: Date;
  id: string;
  requestId: string;
  method: string;
  /** The declared path (with `{id}`); null: the path is unknown. */
  route: string | null;
  status: number;
  ms: number;
  errorCode: string | null;
  /** The caller, as `actorOf` writes actors. */
  actor: string;
  ip: string;
  idempotency: 'first' | 'replayed' | 'refused' | null;
  sample: number;
  errors: readonly { field: string; code: string }[] | null;
  details: Readonly<Record<string, unknown>> | null;
}

/** The column type of each field. */
const types = {
  ownerId: 'uuid',
  at: 'timestamptz',
  id: 'uuid',
  requestId: 'text',
  method: 'text',
  route: 'text',
  status: 'smallint',
  ms: 'int',
  errorCode: 'text',
  actor: 'text',
  ip: 'text',
  idempotency: 'text',
  sample: 'int',
  errors: 'jsonb',
  details: 'jsonb',
} satisfies Record<keyof StoredRequest, string>;
const fields = Object.keys(types) as (keyof StoredRequest)[];

/** After this many stored requests of a project and day, the project's total is checked. */
const lookEvery = 1_000;
/**
 * Number of requests of a project that are kept when its oldest are deleted: fewer than the
 * maximum, because processes may store requests before the next check.
 */
const keptMax = 1_000_000 - 2 * lookEvery;
/** Number of requests that are deleted in one transaction. */
const deletedMax = 5_000;

/**
 * Stores requests and counts them. Requests of deleted projects, and those that are stored already,
 * are left out. Returns the projects whose total must be checked.
 * @throws an error for which `lacksDay` is true, when the partition of a day is missing
 */
export async function insertRequests(
  db: Database,
  requests: readonly StoredRequest[],
): Promise<string[]> {
  const names = fields.map((field) => snakeCase(field));
  const columns = sql.join(names.map((name) => sql.ref(name)));
  const values = fields.map((field) => {
    const isJson = types[field] === 'jsonb';
    const column = requests.map(({ [field]: value }) =>
      isJson && value !== null ? JSON.stringify(value) : value,
    );
    return sql`${column}::${sql.raw(types[field])}[]`;
  });
  const { rows } = await sql<{ ownerId: string }>`
    with stored as (
      insert into request_log (${columns})
        select ${references(names, 'given')} from unnest(${sql.join(values)}) as given (${columns})
          join project on coalesce(project.public_id, project.id) = given.owner_id
            and project.removal is null
        on conflict do nothing
        returning owner_id, at),
    added as (
      select owner_id, (at at time zone 'utc')::date as day, count(*)::int as rows
        from stored group by owner_id, day),
    counted as (
      insert into request_log_count (owner_id, day, rows)
        select owner_id, day, rows from added order by owner_id, day
        on conflict (owner_id, day) do update set rows = request_log_count.rows + excluded.rows
        returning owner_id, day, rows)
    select distinct owner_id as "ownerId" from counted join added using (owner_id, day)
      where counted.rows / ${lookEvery}::int > (counted.rows - added.rows) / ${lookEvery}::int
    `.execute(db);
  return rows.map(({ ownerId }) => ownerId);
}

/** Returns true if requests could not be stored because the partition of their day is missing. */
export function lacksDay(error: unknown): boolean {
  // PostgreSQL reports a missing partition with 23514, the code of a failed check.
  return (error as { code?: unknown }).code === '23514';
}

/** Creates the missing partitions of the days of requests. */
export async function makeDays(db: Database, requests: readonly StoredRequest[]): Promise<void> {
  const days = new Set(requests.map(({ at }) => at.toISOString().slice(0, 10)));
  for (const day of [...days].toSorted()) {
    await sql`select make_request_day(${day}::date)`.execute(db);
  }
}

/** Deletes the oldest requests of a project that has more than the maximum. */
export async function trimRequests(db: Database, ownerId: string): Promise<void> {
  const { rows } = await sql<{ total: number }>`
    select coalesce(sum(rows), 0)::int as total from request_log_count
      where owner_id = ${ownerId}`.execute(db);
  const excess = (rows[0]?.total ?? 0) - keptMax;
  if (excess > 0) await deleteOldest(db, ownerId, Math.min(excess, deletedMax));
}

/**
 * Deletes up to `max` requests of a project, oldest first. Returns the number of deleted requests.
 */
export async function deleteOldest(db: Database, ownerId: string, max: number): Promise<number> {
  const oldest = await sql<{ at: Date; id: string }>`
    select at, id from (select at, id from request_log where owner_id = ${ownerId}
        order by at, id limit ${max}) oldest
      order by at desc, id desc limit 1`.execute(db);
  const [last] = oldest.rows;
  if (!last) return 0;
  // The condition on `at` limits the query to some partitions.
  const { rows } = await sql<{ deleted: number }>`
    with deleted as (
      delete from request_log
        where owner_id = ${ownerId} and at <= ${last.at} and (at, id) <= (${last.at}, ${last.id}::uuid)
        returning at),
    lost as (
      select (at at time zone 'utc')::date as day, count(*)::int as rows from deleted group by day),
    counted as (
      update request_log_count set rows = request_log_count.rows - lost.rows from lost
        where owner_id = ${ownerId} and request_log_count.day = lost.day)
    select count(*)::int as deleted from deleted`.execute(db);
  return rows[0]?.deleted ?? 0;
}
