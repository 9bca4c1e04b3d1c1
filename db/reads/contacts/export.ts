import { type RawBuilder, sql } from 'kysely';
import { commitLike } from '../../commits.ts';
import type { ExportSlots } from '../../contacts/export-slots.ts';
import type { Database } from '../../database.ts';
import { derivedEvents, selectDerived } from '../../sql/derived-events.ts';

/** Reads all data stored about a contact, from one snapshot. */

/** Number of ids read at once. */
const pageSize = 200;

/** Maximum milliseconds of an export, because PostgreSQL keeps old row versions while it runs. */
const exportMs = 10 * 60_000;

/** The lists of an export that may be long, each oldest first. */
export type ExportedList = 'consent' | 'events' | 'emails' | 'executions';

/**
 * Reads in one read-only transaction, which sees one state of the data. The transaction ends when
 * the client has read everything, disconnects, or is too slow; PostgreSQL also ends it if it is
 * idle for too long. `ExportSlots` limits the number of such transactions.
 * @param read yields the parts of the response, one after the other
 */
export async function* readSnapshot<Part>(
  db: Database,
  { slots, projectId, giveWay }: { slots: ExportSlots; projectId: string; giveWay: () => void },
  read: (snapshot: Database) => AsyncIterable<Part>,
): AsyncGenerator<Part, void, undefined> {
  const slot = await slots.enter(projectId, giveWay);
  try {
    for await (const part of readInSnapshot(db, read)) {
      slot.waitsSince = performance.now();
      yield part;
      slot.waitedMs += performance.now() - slot.waitsSince;
      slot.waitsSince = null;
    }
  } finally {
    slots.leave(slot);
  }
}

async function* readInSnapshot<Part>(
  db: Database,
  read: (snapshot: Database) => AsyncIterable<Part>,
): AsyncGenerator<Part, void, undefined> {
  const end = Date.now() + exportMs;
  const snapshot = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute();
  // The keys that hash addresses are set for the handle `db`. From now on, the snapshot finds them,
  // too.
  commitLike(snapshot, db);
  try {
    for await (const part of read(snapshot)) {
      if (Date.now() > end)
        throw new Error(
          `The export took longer than ${exportMs / 60_000} minutes. Its client may read too slowly.`,
        );
      yield part;
    }
  } finally {
    await snapshot.rollback().execute();
  }
}

/** Yields the ids of a contact's rows, page by page, from a cursor of the transaction. */
export async function* exportedIds(
  snapshot: Database,
  contact: { id: string; project_id: string },
  list: ExportedList,
): AsyncGenerator<string[], void, undefined> {
  const name = sql.ref(`exported_${list}`);
  await sql`declare ${name} no scroll cursor for ${idsOf[list](contact)}`.execute(snapshot);
  for (;;) {
    const { rows } = await sql<{ id: string }>`
      fetch ${sql.lit(pageSize)} from ${name}`.execute(snapshot);
    if (rows.length > 0) yield rows.map(({ id }) => id);
    if (rows.length < pageSize) break;
  }
  await sql`close ${name}`.execute(snapshot);
}

type Owner = { id: string; project_id: string };

/**
 * SQL that is true for rows of a contact. The ids are literals, because a cursor takes no
 * parameters.
 */
const ownedBy = ({ id, project_id: projectId }: Owner) =>
  sql`contact_id = ${sql.lit(id)} and project_id = ${sql.lit(projectId)}`;

const idsOf: Record<ExportedList, (owner: Owner) => RawBuilder<unknown>> = {
  consent: (owner) => sql`select id from consent where ${ownedBy(owner)} order by id`,
  events: (owner) => {
    const derived = derivedEvents.map(
      (event) =>
        sql`union all select id, recorded_at from (${selectDerived(event, ownedBy(owner))}) as mail`,
    );
    return sql`
      select id from (
          select id, recorded_at from event where ${ownedBy(owner)} ${sql.join(derived, sql` `)}
        ) as found order by recorded_at, id`;
  },
  emails: (owner) => sql`select id from email where ${ownedBy(owner)} order by created_at, id`,
  executions: (owner) =>
    sql`select id from execution where ${ownedBy(owner)} order by started_at, id`,
};

/** The STATIC and tracked segments that a contact is in, by name. */
export async function listMemberships(
  db: Database,
  contactId: string,
): Promise<{ id: string; name: string }[]> {
  return db
    .selectFrom('segment_member')
    .innerJoin('segment', 'segment.id', 'segment_member.segment_id')
    .select(['segment.id', 'segment.name'])
    .where('segment_member.contact_id', '=', contactId)
    .orderBy('segment.name')
    .orderBy('segment.id')
    .execute();
}

/** Lists the attachments of mail, without their content. */
export async function listFilesOf(
  db: Database,
  emailId: string,
): Promise<{ filename: string; contentType: string; size: number }[]> {
  const { rows } = await sql<{ filename: string; contentType: string; size: number }>`
    select file ->> 'filename' as filename, file ->> 'contentType' as "contentType",
        (file ->> 'bytes')::int as size
      from email, jsonb_array_elements(attachments) as file where id = ${emailId}`.execute(db);
  return rows;
}
