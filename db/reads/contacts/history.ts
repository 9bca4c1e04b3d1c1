import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database.ts';
import { references } from '../../columns.ts';
import { anyOf } from '../../expressions.ts';
import { listSegmentsFrom } from '../../segments/segments.ts';
import { derivedEvents, hasDerived } from '../../sql/derived-events.ts';
import { mailEventAt, mailEventColumn } from '../../sql/mail-status.ts';
import {
  type Condition,
  type EmailActivity,
  emailActivities,
  mailFieldName,
  type MailField,
} from '../../../domain/filter/filter.ts';
import {
  type ContactHistory,
  type HistoryNames,
  historyNames,
} from '../../../domain/filter/history.ts';
import { isUuid } from '../../../domain/ids.ts';

/**
 * Number of last recorded events of a name that are searched for the one with the latest time.
 * Events are recorded in about the order of their times.
 */
const eventsMax = 1_000;
/** Number of newest emails that are read for opens, clicks and other activities. */
const emailsMax = 10_000;

/** The columns from which the events of a message are derived. */
const derivedBy = ['status', 'source_type', 'derived_events'];

/**
 * Reads what these conditions need about one contact besides its own fields: events, activities of
 * its mail, and memberships of segments.
 */
export async function readContactHistory(
  db: Database,
  contact: { id: string; project_id: string },
  conditions: readonly Condition[],
): Promise<ContactHistory> {
  const direct = historyNames(conditions);
  const segments = await listSegmentsFrom(db, contact.project_id, direct.segments);
  const inSegments = [...segments.values()].flatMap((condition) => condition ?? []);
  const names = historyNames([...conditions, ...inSegments]);
  const handPicked = names.segments.filter((id) => segments.get(id) === null);
  const seen = await readSeen(db, contact, { ...names, segments: handPicked });
  return {
    segments,
    memberships: new Set(seen.memberships),
    events: latestOf([...Object.entries(seen.events), ...Object.entries(seen.derived)]),
    activities: latestOf(Object.entries(seen.activities)) as Map<EmailActivity, Date>,
    mail: latestOf(Object.entries(seen.mail)),
  };
}

function latestOf(times: readonly [string, string | null][]): Map<string, Date> {
  const latest = new Map<string, Date>();
  for (const [name, text] of times) {
    const at = text === null ? null : new Date(text);
    if (at && at > (latest.get(name) ?? new Date(0))) latest.set(name, at);
  }
  return latest;
}

/** By name, the time at which something last happened to the contact, as a text; null: never. */
interface Seen {
  events: Record<string, string | null>;
  /** Events that are derived from messages. */
  derived: Record<string, string | null>;
  activities: Record<string, string | null>;
  /** Times of the last mail activity, by the name of the filter's field. */
  mail: Record<string, string | null>;
  memberships: string[];
}

/** Reads all parts in one statement, each by an index that begins with the contact. */
async function readSeen(
  db: Database,
  contact: { id: string; project_id: string },
  { events, activities, mail, segments }: HistoryNames,
): Promise<Seen> {
  const { id, project_id: projectId } = contact;
  const asksMail = activities.length > 0 || derivedEvents.some(({ name }) => events.includes(name));
  const parts: RawBuilder<unknown>[] = [];
  if (events.length > 0) {
    parts.push(sql`(select jsonb_object_agg(named.name, (select max(created_at) from (
        select created_at from event
          where contact_id = ${id} and project_id = ${projectId} and event.name = named.name
          order by recorded_at desc limit ${eventsMax}) as newest))
      from unnest(${events}::text[]) as named(name)) as events`);
  }
  if (asksMail) {
    const read = references([...emailActivities.map(mailEventColumn), ...derivedBy], 'email');
    const newest = sql`(select ${read} from email where contact_id = ${id} and project_id = ${projectId}
      order by created_at desc limit ${emailsMax}) as newest`;
    const ofActivities = emailActivities.map(
      (name) => sql`${sql.lit(name)}, max(${sql.ref(mailEventColumn(name))})`,
    );
    const ofEvents = derivedEvents.map(
      (event) => sql`${sql.lit(event.name)},
        max(${sql.ref(event.at)}) filter (where ${hasDerived(event)})`,
    );
    parts.push(
      sql`(select jsonb_build_object(${sql.join(ofActivities)}) from ${newest}) as activities`,
      sql`(select jsonb_build_object(${sql.join(ofEvents)}) from ${newest}) as derived`,
    );
  }
  const named = mail.filter((field) => isUuid(field.id));
  if (named.length > 0) {
    const times = named.map(
      (field) => sql`${sql.lit(mailFieldName(field))}, ${latestMail(contact, field)}`,
    );
    parts.push(sql`jsonb_build_object(${sql.join(times)}) as mail`);
  }
  if (segments.length > 0) {
    parts.push(sql`(select coalesce(jsonb_agg(segment_id), '[]') from segment_member
      where contact_id = ${id} and segment_id = ${anyOf(segments)}) as memberships`);
  }
  const none: Seen = { events: {}, derived: {}, activities: {}, mail: {}, memberships: [] };
  if (parts.length === 0) return none;
  const { rows } = await sql<Partial<Seen>>`select ${sql.join(parts)}`.execute(db);
  return { ...none, ...rows[0] };
}

/** SQL of the last time of an event of a contact's mail from a campaign or template. */
function latestMail(
  contact: { id: string; project_id: string },
  { source, id, event }: MailField,
): RawBuilder<unknown> {
  const own = sql`inner_mailed.contact_id = ${contact.id} and inner_mailed.project_id = ${contact.project_id}`;
  const isOfSource =
    source === 'campaign'
      ? sql`${own} and inner_mailed.campaign_id = ${id}`
      : sql`inner_mailed.template_id = ${id} and inner_mailed.id = any(array(
          select inner_latest.id from email inner_latest
          where inner_latest.contact_id = ${contact.id}
            and inner_latest.project_id = ${contact.project_id}
          order by inner_latest.created_at desc limit ${emailsMax}))`;
  return sql`(select max(${mailEventAt('inner_mailed', event, id)}) from email inner_mailed
    where ${isOfSource})`;
}
