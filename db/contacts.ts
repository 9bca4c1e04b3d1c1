import { sql, type Selectable } from 'kysely';
import { type ContactDataChange, contactDataFault } from '../domain/contact-data.ts';
import { invalidField } from '../domain/errors.ts';
import type { Database } from './database.ts';
import { type Due, nothingDue, recordEvents } from './events.ts';
import type { Contact } from './tables.ts';

export type ContactRow = Omit<Selectable<Contact>, 'data'> & {
  data: Record<string, unknown> | null;
};

/** Who changed a subscription, as the event tells it. */
export type SubscriptionSource =
  | 'api'
  | 'import'
  | 'bulk'
  | 'public_page'
  | 'one_click'
  | 'workflow';

export interface ContactWrite {
  email: string;
  /** Absent: an existing contact keeps its state. */
  subscribed?: boolean | undefined;
  subscribedWhenNew: boolean;
  data: ContactDataChange;
  source: SubscriptionSource;
}

export async function findContact(
  db: Database,
  projectId: string,
  id: string,
): Promise<ContactRow | undefined> {
  const row = await db
    .selectFrom('contact')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row as ContactRow | undefined;
}

/**
 * Makes or changes the contact of an address, inside the caller's transaction. The contact stays
 * locked until that ends: what is recorded about one contact happens one after the other.
 * Two parallel writes of a new address make one contact; `isNew` is true for one of them.
 * @throws Problem VALIDATION_ERROR when the merged data breaks a limit.
 */
export async function recordContact(
  tx: Database,
  projectId: string,
  write: ContactWrite,
): Promise<{ contact: ContactRow; isNew: boolean; due: Due }> {
  for (;;) {
    const before = await lockContact(tx, projectId, write.email);
    if (!before) {
      const contact = await insertContact(tx, projectId, write);
      // Nothing inserted: somebody else just made it.
      if (contact) return { contact: withinLimits(contact), isNew: true, due: nothingDue };
      continue;
    }
    const contact = await mergeContact(tx, before, write);
    const due =
      contact.subscribed === before.subscribed
        ? nothingDue
        : await recordSubscription(tx, contact, write.source);
    return { contact: withinLimits(contact), isNew: false, due };
  }
}

async function lockContact(tx: Database, projectId: string, email: string) {
  const row = await tx
    .selectFrom('contact')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('email', '=', email)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return row as ContactRow | undefined;
}

async function insertContact(tx: Database, projectId: string, write: ContactWrite) {
  const { set } = write.data;
  const row = await tx
    .insertInto('contact')
    .values({
      project_id: projectId,
      email: write.email,
      subscribed: write.subscribed ?? write.subscribedWhenNew,
      data: Object.keys(set).length > 0 ? JSON.stringify(set) : null,
    })
    .onConflict((conflict) => conflict.columns(['project_id', 'email']).doNothing())
    .returningAll()
    .executeTakeFirst();
  return row as ContactRow | undefined;
}

/** Merged by the database, which keeps stored numbers as they are. */
async function mergeContact(tx: Database, before: ContactRow, write: ContactWrite) {
  const subscribed = write.subscribed ?? before.subscribed;
  const { set, remove } = write.data;
  const dataMayChange = Object.keys(set).length > 0 || remove.length > 0;
  if (!dataMayChange && subscribed === before.subscribed) return before;
  const merged = sql<string | null>`nullif(
    (coalesce(data, '{}') || ${JSON.stringify(set)}::jsonb) - ${remove}::text[], '{}')`;
  const row = await tx
    .updateTable('contact')
    .set({ data: merged, subscribed, updated_at: sql<Date>`now()` })
    .where('id', '=', before.id)
    .where(sql<boolean>`(data is distinct from ${merged} or subscribed <> ${subscribed})`)
    .returningAll()
    .executeTakeFirst();
  return (row as ContactRow | undefined) ?? before;
}

async function recordSubscription(tx: Database, contact: ContactRow, source: SubscriptionSource) {
  const { due } = await recordEvents(
    tx,
    contact.project_id,
    [
      {
        contactId: contact.id,
        name: contact.subscribed ? 'contact.subscribed' : 'contact.unsubscribed',
        data: { source },
      },
    ],
    { contactsLocked: true },
  );
  return due;
}

function withinLimits(contact: ContactRow): ContactRow {
  const fault = contactDataFault(contact.data);
  if (fault) throw invalidField('data', 'too_big', fault);
  return contact;
}
