import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { type Evidence, insertGranted } from '../../consent/log.ts';
import { mergedData, withinLimits } from '../../contacts/contacts.ts';
import type { Database } from '../../database.ts';
import { anyOf } from '../../expressions.ts';
import { hasAddressKey } from '../../sql/mail-claims.ts';
import { type MadeContact, unsubscribeErased } from '../../suppression/erased.ts';
import { applyConsentRequest } from './consent-request.ts';
import { recordContact } from './record-contact.ts';
import { recordEvents } from '../events/record-events.ts';
import type { ContactDataChange } from '../../../domain/contact/data.ts';
import { notFound, bug } from '../../../domain/errors.ts';

/** An event with its changes to the contact, which is created if needed. */
export interface TrackedEvent {
  email: string;
  subscribed: boolean | undefined;
  subscribedWhenNew: boolean;
  /**
   * True if the contact is subscribed and joins the topics only after the owner of the address has
   * confirmed this.
   */
  isOptIn: boolean;
  change: ContactDataChange;
  name: string;
  data: Record<string, unknown> | null;
  /** Evidence for changes of the contact's subscription and topics. */
  evidence: Evidence;
  /** Topics to subscribe the contact to. */
  topics: readonly string[];
  /** True for requests with the public key: topics that the contact has left stay left. */
  keepsLeft: boolean;
}

export interface RecordedTracked {
  contactId: string;
  eventId: string;
  createdAt: Date;
}

/**
 * Records one event, in the caller's transaction.
 * @throws Problem PROJECT_NOT_FOUND; CONSENT_SENDER_REQUIRED; VALIDATION_ERROR when merged data
 *   exceed a limit.
 */
export async function recordTracked(
  tx: Database,
  projectId: string,
  { email, change, name, data, evidence, ...consent }: TrackedEvent,
): Promise<RecordedTracked> {
  const origin = { source: 'api' as const, ...evidence };
  const { contact, isNew } = await recordContact(tx, projectId, {
    email,
    subscribed: consent.subscribed,
    subscribedWhenNew: consent.subscribedWhenNew,
    data: change,
    origin,
  });
  await applyConsentRequest(tx, contact, consent, { origin, isNew });
  const contactId = contact.id;
  const [event] = await recordEvents(
    tx,
    projectId,
    [{ contactId, name, data, causedBy: evidence.actor }],
    { contactsLocked: true },
  );
  if (!event) throw bug('A recorded event has no row.');
  return { contactId, eventId: event.id, createdAt: event.createdAt };
}

/**
 * Returns true if an event only adds to its contact's data, so that it can be recorded together
 * with others.
 */
export function isPlain({ subscribed, isOptIn, change, topics }: TrackedEvent): boolean {
  const asksNothing = subscribed === undefined && !isOptIn && topics.length === 0;
  return asksNothing && change.remove.length === 0;
}

/**
 * Records plain events of different contacts, as `recordTracked` would one after the other.
 * @param events each address once
 * @returns the results in their order; null for an event that was not recorded, because another
 *   transaction has locked its contact or has just created it
 * @throws Problem PROJECT_NOT_FOUND; VALIDATION_ERROR when merged data exceed a limit.
 */
export async function recordTrackedTogether(
  tx: Database,
  projectId: string,
  events: readonly TrackedEvent[],
): Promise<(RecordedTracked | null)[]> {
  const { ids, locked } = await lockKnown(tx, projectId, events);
  const free = events.filter(({ email }) => !locked.has(email));
  for (const { id, email } of await writeContacts(tx, projectId, free, ids)) ids.set(email, id);
  // A contact that another transaction has just created with the same data was neither found nor
  // written.
  const ready = free.flatMap((event) => {
    const contactId = ids.get(event.email);
    if (contactId === undefined) return [];
    return { contactId, name: event.name, data: event.data, causedBy: event.evidence.actor };
  });
  const recorded = await recordEvents(tx, projectId, ready, { contactsLocked: true });
  const byContact = new Map(recorded.map((event) => [event.contactId, event]));
  return events.map(({ email }) => {
    const contactId = ids.get(email);
    const event = contactId === undefined ? undefined : byContact.get(contactId);
    if (!event || contactId === undefined) return null;
    return { contactId, eventId: event.id, createdAt: event.createdAt };
  });
}

/** Holds the project and locks the existing contacts that no other transaction has locked. */
async function lockKnown(
  tx: Database,
  projectId: string,
  events: readonly TrackedEvent[],
): Promise<{ ids: Map<string, string>; locked: Set<string> }> {
  const wanted = sql`contact.project_id = ${projectId}
    and contact.email = ${anyOf(
      events.map(({ email }) => email),
      'text',
    )}`;
  const { rows } = await sql<{ id: string | null; email: string; isFree: boolean }>`
    with held as (
      select id from project where id = ${projectId} and removal is null for key share
    ), free as (
      select id from contact where ${wanted} for no key update skip locked
    )
    select contact.id, contact.email, free.id is not null as "isFree"
      from held
      left join contact on ${wanted}
      left join free on free.id = contact.id`.execute(tx);
  if (rows.length === 0) throw notFound('PROJECT', projectId);
  const known = rows.filter((row) => row.id !== null) as {
    id: string;
    email: string;
    isFree: boolean;
  }[];
  return {
    ids: new Map(known.filter(({ isFree }) => isFree).map(({ id, email }) => [email, id])),
    locked: new Set(known.filter(({ isFree }) => !isFree).map(({ email }) => email)),
  };
}

/**
 * Creates contacts and merges data. Returns the changed ones.
 * @param known the ids of existing contacts: their consent does not change, so it needs no
 *   evidence.
 */
async function writeContacts(
  tx: Database,
  projectId: string,
  events: readonly TrackedEvent[],
  known: ReadonlyMap<string, string>,
): Promise<{ id: string; email: string }[]> {
  const given = JSON.stringify(
    events.map(({ email, change, subscribedWhenNew, evidence: { userAgent, ...evidence } }) => ({
      id: randomUUID(),
      email,
      subscribed: subscribedWhenNew,
      set: change.set,
      ...(known.has(email) ? {} : { user_agent: userAgent, ...evidence }),
    })),
  );
  const merged = mergedData(sql`coalesce(excluded.data, '{}')`, []);
  const { rows } = await sql<MadeContact & { data: Record<string, unknown> | null }>`
    with given as (
      select id, email, subscribed, set, ip, user_agent, text, actor
        from jsonb_to_recordset(${given}::jsonb) as given(id uuid, email text, subscribed boolean,
        set jsonb, ip text, user_agent text, text text, actor text)
    ), written as (
      insert into contact (id, project_id, email, subscribed, data)
        select id, ${projectId}, email, subscribed, nullif(set, '{}') from given
          -- In a fixed order, because two transactions may create the same contacts, and would
          -- deadlock.
          order by email
        on conflict (project_id, email) do update set data = ${merged}, updated_at = now()
          where contact.data is distinct from ${merged}
        returning id, email, data
    ), logged as (${insertGranted(
      projectId,
      'api',
      sql`
        select id, ip, user_agent, text, actor from given join written using (id)
          where given.subscribed`,
    )})
    select id, written.email, data, coalesce(given.subscribed, false) as subscribed,
        ${hasAddressKey(projectId)} as has_list
      from written left join given using (id)`.execute(tx);
  await unsubscribeErased(tx, projectId, rows);
  return rows.map((row) => withinLimits(row));
}
