import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { endpoints } from '../../../api/endpoints.ts';
import type { SecurityEventName } from '../../../db/accounts/security-events.ts';
import type { TestAnswer, TestApi } from '../api.ts';

/** Changes by a person or a key, each with the entry that it leaves in the security log. */

export interface World {
  api: TestApi;
  /** The cookie of the owner. */
  cookie: string;
  userId: string;
  project: { id: string; secretKey: string };
  /** Ids of records and other texts, by the names in `params` and `makes`. */
  ids: Record<string, string>;
}

export interface Play {
  /** Id of the API operation. */
  id: string;
  event: SecurityEventName;
  /** The name in `ids` of each path parameter; by default the type of the event. */
  params?: Record<string, string>;
  body?: object | ((world: World) => object);
  /** Headers of the request; by default JSON with the key or the cookie of the owner. */
  headers?: Record<string, string>;
  /** The name under which the id of the created record is added to `ids`. */
  makes?: string;
  prepare?: (world: World) => unknown;
  /**
   * True: a failed attempt also uses up what `prepare` has created, so `prepare` must run again.
   */
  preparesAgain?: boolean;
  /** Returns the cookie of another user who makes the request instead of the owner. */
  cookie?: (world: World) => string;
  /** The request that must be refused; absent: a request with unknown ids, or without fields. */
  wrong?: { body?: unknown; ids?: Record<string, string>; anonymous?: boolean };
}

const endpointOf = new Map(endpoints.map((endpoint) => [endpoint.id, endpoint]));

export function endpointNamed(id: string) {
  const endpoint = endpointOf.get(id);
  if (!endpoint) throw new Error(`There is no operation ${id}.`);
  return endpoint;
}

function pathOf({ id, params = {}, event }: Play, ids: Record<string, string>): string {
  return endpointNamed(id).path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => {
    const name = params[parameter] ?? event.split('.')[0]!;
    return encodeURIComponent(ids[name] ?? '');
  });
}

function ask(world: World, play: Play, path: string, body: unknown): Promise<TestAnswer> {
  const { access, method } = endpointNamed(play.id);
  const by =
    access === 'session'
      ? { cookie: play.cookie?.(world) ?? world.cookie }
      : { key: world.project.secretKey };
  const { headers = {} } = play;
  return world.api.request(method, path, { ...by, headers, ...(body !== undefined && { body }) });
}

const bodyOf = (world: World, { body }: Play) => (typeof body === 'function' ? body(world) : body);

/** Sends the request of a play, and adds the id of the created record to `ids`. */
export async function act(world: World, play: Play): Promise<TestAnswer> {
  const answer = await ask(world, play, pathOf(play, world.ids), bodyOf(world, play));
  if (play.makes !== undefined && answer.status < 300) {
    const { body } = answer;
    world.ids[play.makes] = body.id ?? body.data?.id ?? body.jobId;
  }
  return answer;
}

/**
 * Sends the request of a play so that it is refused: by default with unknown ids, or without
 * fields.
 */
export function actWrongly(world: World, play: Play): Promise<TestAnswer> {
  const unknown = new Proxy({}, { get: () => randomUUID() });
  const path = pathOf(play, play.wrong?.ids ?? unknown);
  if (play.wrong?.anonymous) {
    return world.api.request(endpointNamed(play.id).method, path);
  }
  const isNamed = endpointNamed(play.id).path.includes('{');
  const body = play.wrong?.body ?? (isNamed ? bodyOf(world, play) : {});
  return ask(world, play, path, body);
}

/** Prevents every write to the security log while `work` runs. */
export async function withoutLog<T>({ db }: TestApi, work: () => Promise<T>): Promise<T> {
  await sql`create or replace function refuse_entry() returns trigger language plpgsql as
    $$ begin raise exception 'The security log cannot be written'; end $$`.execute(db);
  await sql`create or replace trigger refuse_entry before insert or update on security_event
    for each row execute function refuse_entry()`.execute(db);
  try {
    return await work();
  } finally {
    await sql`drop trigger refuse_entry on security_event`.execute(db);
  }
}

/**
 * Runs `work`, and returns the entries that it adds to the security log. A repetition, which only
 * raises the count of an entry, is returned as an entry, too.
 */
export async function entriesOf<T>(
  { db }: TestApi,
  work: () => Promise<T>,
): Promise<{ answer: T; events: string[] }> {
  const read = async () => {
    const rows = await db.selectFrom('security_event').select(['id', 'event', 'count']).execute();
    return rows.flatMap(({ id, event, count }) =>
      Array.from({ length: count }, (_, index) => [`${id} ${index}`, event] as const),
    );
  };
  const before = new Map(await read());
  const answer = await work();
  const after = await read();
  return { answer, events: after.flatMap(([id, event]) => (before.has(id) ? [] : [event])) };
}
