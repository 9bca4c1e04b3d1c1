import { type RawBuilder, sql, type Selectable } from 'kysely';
import { columnList, columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, countRows } from '../expressions.ts';
import type { Contact } from '../tables.ts';
import { type ContactDataChange, contactDataFault } from '../../domain/contact/data.ts';
import type { Position } from '../../domain/cursor.ts';
import { lowerAscii } from '../../domain/email-address.ts';
import { invalidField, notFound } from '../../domain/errors.ts';

export type ContactRow = Omit<Selectable<Contact>, 'data'> & {
  data: Record<string, unknown> | null;
};

export async function findContact(
  db: Database,
  projectId: string,
  id: string,
): Promise<ContactRow | undefined> {
  const row = await db
    .selectFrom('contact')
    .select(columnsOf('contact'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row as ContactRow | undefined;
}

/** Filters of a list of contacts; absent filters do not apply. */
export interface ContactFilter {
  /** Part of the address, in any case. */
  search?: string | undefined;
  /** The whole address, in its stored form. */
  email?: string | undefined;
  subscribed?: boolean | undefined;
  /** The state of the newest opt-in request. */
  consent?: string | undefined;
}

export interface ContactsQuery {
  filter: ContactFilter;
  sort: 'createdAt' | 'email';
  dir: 'asc' | 'desc';
  /** The position after which the list begins; null: the beginning. */
  after: Position | null;
  limit: number;
}

/** SQL that is true for the contacts of a project that match a filter. */
export function matchesFilter(projectId: string, filter: ContactFilter): RawBuilder<boolean> {
  const { search, email, subscribed, consent } = filter;
  const conditions = [
    sql`project_id = ${projectId}`,
    ...(email === undefined ? [] : [sql`email = ${email}`]),
    // Addresses are stored in lower case.
    ...(search ? [sql`position(${lowerAscii(search)} in email) > 0`] : []),
    ...(subscribed === undefined ? [] : [sql`subscribed = ${subscribed}`]),
    ...(consent === undefined ? [] : [sql`consent = ${consent}`]),
  ];
  return sql<boolean>`${sql.join(conditions, sql` and `)}`;
}

/** Counts the contacts of a project that match a filter. */
export async function countContacts(
  db: Database,
  projectId: string,
  filter: ContactFilter,
): Promise<number> {
  return countRows(db.selectFrom('contact').where(matchesFilter(projectId, filter)));
}

/**
 * Lists contacts in order of creation or address, from a position. A position in the order of
 * addresses needs no id, because addresses are unique. In the order of creation, the query searches
 * only the index, even if few contacts match, and then reads only the listed contacts.
 */
export async function listContacts(
  db: Database,
  projectId: string,
  { filter, sort, dir, after, limit }: ContactsQuery,
): Promise<ContactRow[]> {
  const order = (table: string) => contactOrder({ sort, dir }, table);
  const place = contactPlace({ sort, dir, after });
  const { rows } = await sql<ContactRow>`
    select ${columnList('contact')} from (
        select id from contact as listed where ${matchesFilter(projectId, filter)} and ${place}
          order by ${order('listed')} limit ${limit}) page
      join contact using (id)
      order by ${order('contact')}`.execute(db);
  return rows;
}

type ContactPlace = Pick<ContactsQuery, 'sort' | 'dir' | 'after'>;

/** SQL that is true for contacts after a position. */
export function contactPlace({ sort, dir, after }: ContactPlace): RawBuilder<boolean> {
  const symbol = sql.raw(dir === 'asc' ? '>' : '<');
  if (!after) return sql<boolean>`true`;
  if (sort === 'email') return sql<boolean>`email ${symbol} ${after.value}`;
  return sql<boolean>`(created_at, id) ${symbol} (${after.value}::timestamptz, ${after.id}::uuid)`;
}

/**
 * SQL of an order of contacts.
 * @param table the table of contacts, or its alias
 */
export function contactOrder(
  { sort, dir }: Pick<ContactPlace, 'sort' | 'dir'>,
  table: string,
): RawBuilder<unknown> {
  const column = (name: string) => sql`${sql.ref(`${table}.${name}`)} ${sql.raw(dir)}`;
  return sort === 'email' ? column('email') : sql`${column('created_at')}, ${column('id')}`;
}

/** Returns those of `emails`, in their stored form, that have a contact. */
export async function listKnownEmails(
  db: Database,
  projectId: string,
  emails: readonly string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('contact')
    .select('email')
    .where('project_id', '=', projectId)
    .where('email', '=', anyOf(emails, 'text'))
    .execute();
  return rows.map(({ email }) => email);
}

/**
 * Locks a contact and prevents reset and deletion of its project, in one round trip.
 * @throws Problem PROJECT_NOT_FOUND, see `holdProject`.
 */
export async function lockContact(
  tx: Database,
  projectId: string,
  key: { email: string } | { id: string },
): Promise<ContactRow | undefined> {
  const [[column, value]] = Object.entries(key) as [[string, string]];
  const { rows } = await sql<ContactRow | { id: null }>`
    with held as (
      select id from project where id = ${projectId} and removal is null for key share
    ), locked as (
      select ${columnList('contact')} from contact
        where project_id = (select id from held) and ${sql.ref(column)} = ${value}
        for no key update
    )
    select ${columnList('contact', 'locked')} from held left join locked on true`.execute(tx);
  const [row] = rows;
  if (!row) throw notFound('PROJECT', projectId);
  return row.id === null ? undefined : row;
}

/**
 * Returns SQL of a contact's data after a change. PostgreSQL merges the data, because JavaScript
 * would lose the precision of stored numbers.
 */
export function mergedData(set: RawBuilder<unknown>, remove: string[]): RawBuilder<string | null> {
  return sql`nullif((coalesce(contact.data, '{}') || ${set}) - ${remove}::text[], '{}')`;
}

/**
 * Returns a contact whose data were merged.
 * @throws Problem VALIDATION_ERROR when the data exceed a limit
 */
export function withinLimits<T extends Pick<ContactRow, 'email' | 'data'>>(contact: T): T {
  const fault = contactDataFault(contact.data, `The contact ${contact.email}`);
  if (fault)
    throw invalidField('data', 'too_big', `${fault} The data that it already has also count.`);
  return contact;
}

/**
 * Refuses data that would exceed a limit once merged into the contact's data.
 * @throws Problem VALIDATION_ERROR, as recording the data would
 */
export async function refuseMergedData(
  db: Database,
  projectId: string,
  contacts: { emails: readonly string[] } | { id: string },
  { set, remove }: ContactDataChange,
): Promise<void> {
  const merged = await db
    .selectFrom('contact')
    .select(['email', mergedData(sql`${JSON.stringify(set)}::jsonb`, remove).as('data')])
    .where('project_id', '=', projectId)
    .where((contact) =>
      'id' in contacts
        ? contact('id', '=', contacts.id)
        : contact('email', '=', anyOf(contacts.emails, 'text')),
    )
    .execute();
  for (const row of merged) withinLimits(row as unknown as Pick<ContactRow, 'email' | 'data'>);
}

/**
 * Locks contacts by id, before other rows of the contacts; all callers use this order, which
 * prevents deadlocks. Returns the ids of those that exist.
 * @param options.skipsLocked leaves out contacts that another transaction has locked, and does not
 * wait for them
 */
export async function lockContacts(
  tx: Database,
  ids: readonly string[],
  options: { skipsLocked?: boolean } = {},
): Promise<string[]> {
  const rows = await tx
    .selectFrom('contact')
    .select('id')
    .where('id', '=', anyOf([...new Set(ids)]))
    .orderBy('id')
    .forNoKeyUpdate()
    .$if(options.skipsLocked ?? false, (query) => query.skipLocked())
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Locks the contacts with these addresses, in the order that all callers use; the caller may then
 * write to them in any order. Contacts that do not exist yet cannot be locked, and two callers
 * could create them in opposite orders. So callers that would create contacts in one project run
 * one after the other.
 */
export async function lockContactsWith(
  tx: Database,
  projectId: string,
  emails: readonly string[],
): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`contacts ${projectId}`}, 0))`.execute(
    tx,
  );
  await tx
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .where('email', '=', anyOf(emails, 'text'))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
}
