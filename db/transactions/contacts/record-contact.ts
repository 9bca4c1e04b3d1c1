import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { columnList, columnsOf } from '../../columns.ts';
import { actionOf, type ConsentOrigin, recordConsent } from '../../consent/log.ts';
import { endOptIns, noteState } from '../../consent/opt-ins.ts';
import { type ContactRow, withinLimits, lockContact, mergedData } from '../../contacts/contacts.ts';
import type { Database } from '../../database.ts';
import { hasAddressKey } from '../../sql/mail-claims.ts';
import { findErased, refuseErased, unsubscribeErased } from '../../suppression/erased.ts';
import { recordEvents } from '../events/record-events.ts';
import type { ContactDataChange } from '../../../domain/contact/data.ts';
import { Problem } from '../../../domain/errors.ts';

/** Absent fields stay as they are. */
export interface ContactChange {
  email?: string | undefined;
  subscribed?: boolean | undefined;
  /** Changes of the contact's data; null removes all of it. */
  data: ContactDataChange | null;
  /** Evidence for the event and the consent log. */
  origin: ConsentOrigin;
  /** The execution whose step makes the change. */
  executionId?: string;
}

export interface ContactWrite extends ContactChange {
  email: string;
  /** Id of a contact that is created; absent: a new id is made. */
  idWhenNew?: string;
  subscribedWhenNew: boolean;
  data: ContactDataChange;
}

/**
 * Creates or updates the contact of an address, in the caller's transaction. The contact stays
 * locked until the transaction ends, so that its changes are serialized, and its project is held as
 * by `holdProject`. Two parallel writes of a new address create one contact; `isNew` is true for
 * one of them.
 * @throws Problem PROJECT_NOT_FOUND; VALIDATION_ERROR when the merged data exceeds a limit.
 */
export async function recordContact(
  tx: Database,
  projectId: string,
  write: ContactWrite,
): Promise<{ contact: ContactRow; isNew: boolean }> {
  // One statement writes a change of data alone. A change of the subscription must first lock the
  // contact, to read its former state.
  if (write.subscribed === undefined && changes(write.data)) {
    const id = write.idWhenNew ?? randomUUID();
    const contact = await upsertContact(tx, projectId, { ...write, idWhenNew: id });
    if (contact) {
      const isNew = contact.id === id;
      const { has_list: _, ...known } = contact;
      const recorded = isNew ? await recordNew(tx, contact, write.origin) : known;
      return { contact: withinLimits(recorded), isNew };
    }
  }
  for (;;) {
    const before = await lockContact(tx, projectId, { email: write.email });
    if (!before) {
      const contact = await insertContact(tx, projectId, write);
      // Nothing was inserted: another transaction has just created it.
      if (contact) {
        const recorded = await recordNew(tx, contact, write.origin);
        return { contact: withinLimits(recorded), isNew: true };
      }
      continue;
    }
    // An erased contact stays unsubscribed, whatever is written.
    const subscribed = (await mayBecome(tx, before, write)) ? write.subscribed : undefined;
    return { contact: await changeContact(tx, before, { ...write, subscribed }), isNew: false };
  }
}

/**
 * Updates a contact, in the caller's transaction. If two requests want the same new address, one of
 * them fails. Returns undefined when the project has no such contact.
 * @param requireState called with the locked contact; refuses the change by throwing an error
 * @throws Problem PROJECT_NOT_FOUND, CONTACT_EXISTS; CONTACT_SUPPRESSED when it would be subscribed
 * although its address is erased; VALIDATION_ERROR when the merged data exceeds a limit.
 */
export async function updateContact(
  tx: Database,
  projectId: string,
  id: string,
  { requireState, ...change }: ContactChange & { requireState?: (locked: ContactRow) => void },
): Promise<ContactRow | undefined> {
  const before = await lockContact(tx, projectId, { id });
  if (!before) return undefined;
  requireState?.(before);
  const { email = before.email, subscribed = before.subscribed } = change;
  const isGranted = subscribed && (change.subscribed === true || email !== before.email);
  if (isGranted) await refuseErased(tx, projectId, email);
  return changeContact(tx, before, change);
}

async function changeContact(tx: Database, before: ContactRow, change: ContactChange) {
  const contact = await mergeContact(tx, before, change);
  if (contact.subscribed !== before.subscribed) {
    const { origin, executionId } = change;
    await recordSubscription(tx, contact, origin, { executionId });
  }
  const { id: contactId, project_id: projectId } = contact;
  const isMoved = contact.email !== before.email;
  if (before.consent === 'confirmed' && isMoved) {
    // Only the owner of the former address has confirmed, not the owner of the new one.
    await noteState(tx, [contactId], null);
    const line = { contactId, action: 'address_changed' as const, topic: null };
    await recordConsent(tx, projectId, [line], change.origin);
    return withinLimits({ ...contact, consent: null });
  }
  if (before.consent !== 'pending' || !(isMoved || change.subscribed === false)) {
    return withinLimits(contact);
  }
  const { source, ...evidence } = change.origin;
  const isLogged = before.subscribed && !contact.subscribed;
  await endOptIns(tx, [{ contactId, projectId, source, isLogged }], evidence);
  return withinLimits({ ...contact, consent: 'expired' });
}

/** Returns false if a change would subscribe a contact whose address is erased. */
async function mayBecome(
  tx: Database,
  before: ContactRow,
  { subscribed }: ContactChange,
): Promise<boolean> {
  if (subscribed !== true || before.subscribed) return true;
  return !(await findErased(tx, before.project_id, [before.email])).has(before.email);
}

/**
 * Logs the consent of a new contact, if it is subscribed. A contact whose address is erased becomes
 * unsubscribed instead. Returns its new state.
 */
async function recordNew(
  tx: Database,
  { has_list, ...contact }: NewContact,
  origin: ConsentOrigin,
): Promise<ContactRow> {
  const { project_id: projectId } = contact;
  const made = [{ ...contact, has_list }];
  const [contactId] = await unsubscribeErased(tx, projectId, made);
  if (contactId === undefined) return { ...contact, subscribed: false };
  const granted = { contactId, action: actionOf(true, origin.source), topic: null };
  await recordConsent(tx, projectId, [granted], origin);
  return contact;
}

/** A written contact, with `has_list` true if its project has a suppression list. */
type NewContact = ContactRow & { has_list: boolean };

function changes({ set, remove }: ContactDataChange): boolean {
  return Object.keys(set).length > 0 || remove.length > 0;
}

/**
 * Creates a contact or merges data into it, and holds its project. Returns undefined when nothing
 * changes, or the project is gone.
 */
async function upsertContact(
  tx: Database,
  projectId: string,
  { idWhenNew, email, subscribedWhenNew, data }: ContactWrite,
): Promise<NewContact | undefined> {
  const merged = mergedData(sql`coalesce(excluded.data, '{}')`, data.remove);
  const { rows } = await sql<NewContact>`
    insert into contact (id, project_id, email, subscribed, data)
      select ${idWhenNew}::uuid, id, ${email}, ${subscribedWhenNew}::boolean,
          nullif(${JSON.stringify(data.set)}::jsonb, '{}')
        from project where id = ${projectId} and removal is null for key share
      on conflict (project_id, email) do update set data = ${merged}, updated_at = now()
        where contact.data is distinct from ${merged}
      returning ${columnList('contact')}, ${hasAddressKey(projectId)} as has_list`.execute(tx);
  return rows[0];
}

async function insertContact(tx: Database, projectId: string, write: ContactWrite) {
  const { set } = write.data;
  const row = await tx
    .insertInto('contact')
    .values({
      ...(write.idWhenNew ? { id: write.idWhenNew } : {}),
      project_id: projectId,
      email: write.email,
      subscribed: write.subscribed ?? write.subscribedWhenNew,
      data: Object.keys(set).length > 0 ? JSON.stringify(set) : null,
    })
    .onConflict((conflict) => conflict.columns(['project_id', 'email']).doNothing())
    .returning(columnsOf('contact'))
    .returning(hasAddressKey(projectId).as('has_list'))
    .executeTakeFirst();
  return row as NewContact | undefined;
}

async function mergeContact(tx: Database, before: ContactRow, change: ContactChange) {
  const { email = before.email, subscribed = before.subscribed, data } = change;
  const dataMayChange = data === null || changes(data);
  if (!dataMayChange && subscribed === before.subscribed && email === before.email) return before;
  const merged = data
    ? mergedData(sql`${JSON.stringify(data.set)}::jsonb`, data.remove)
    : sql<null>`null`;
  const row = await tx
    .updateTable('contact')
    .set({ email, data: merged, subscribed, updated_at: sql<Date>`now()` })
    .where('id', '=', before.id)
    .where(
      sql<boolean>`(data is distinct from ${merged} or subscribed <> ${subscribed}
        or email <> ${email})`,
    )
    .returning(columnsOf('contact'))
    .executeTakeFirst()
    .catch((error: { code?: unknown }) => {
      throw error.code === uniqueViolation ? new Problem('CONTACT_EXISTS') : error;
    });
  return (row as ContactRow | undefined) ?? before;
}

/** SQLSTATE: another contact has the address. */
const uniqueViolation = '23505';

/**
 * Records the event of a changed subscription, and its line in the consent log. `contact` is locked
 * and has the new value.
 */
export async function recordSubscription(
  tx: Database,
  contact: Pick<ContactRow, 'id' | 'project_id' | 'subscribed'>,
  origin: ConsentOrigin,
  cause: {
    /** The message whose link was followed. */
    emailId?: string | null;
    executionId?: string | undefined;
  } = {},
): Promise<void> {
  const { emailId = null, executionId } = cause;
  const { source } = origin;
  const action = actionOf(contact.subscribed, source);
  const line = { contactId: contact.id, action, topic: null };
  await recordConsent(tx, contact.project_id, [line], origin);
  await recordEvents(
    tx,
    contact.project_id,
    [
      {
        contactId: contact.id,
        name: contact.subscribed ? 'contact.subscribed' : 'contact.unsubscribed',
        data: emailId ? { source, emailId } : { source },
        emailId,
        causedBy: origin.actor,
      },
    ],
    { contactsLocked: true, executionId },
  );
}
