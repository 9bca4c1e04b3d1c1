import { sql } from 'kysely';
import { isJsonEqual } from '../../domain/filter/value.ts';
import { segmentSlug } from '../../domain/contact/segment-slug.ts';
import type { Database } from '../database.ts';
import { type Due, recordEvents } from '../events/events.ts';
import { membershipSql, recordStoredCount, withinConditionTime } from './members.ts';
import { findSegment, lockSegment, type SegmentRow } from './segments.ts';
import { transact } from '../transaction.ts';

/** The membership of a tracked segment, and the events of those who come and go. */

type TrackedSegment = SegmentRow & { type: 'DYNAMIC' };

export interface ComputationOptions {
  /** The moment the condition is evaluated for. */
  now: Date;
  /** Given what every committed part makes due: Temporal must hear of it. */
  onDue(due: Due): void;
  /** True when it is time to stop: the rest is left to the next computation. */
  isOver?: () => boolean;
}

export interface Computation {
  added: number;
  removed: number;
  /** Members afterwards. */
  total: number;
  /** False when it was cut short: time was over, or the segment was changed meanwhile. */
  isComplete: boolean;
}

/** Contacts that come or go, looked for at once. Their ids take some 10 MB of memory. */
const changesMax = 100_000;
/** Contacts in one transaction: so many are locked at a time, for some tens of milliseconds. */
const pageSize = 1000;

/**
 * Brings the stored members of a tracked segment to what its condition says now and records an
 * entry or exit event for each contact that came or went. Page by page: a page changes
 * memberships and records their events in one transaction, under the locks of the segment and its
 * contacts and after looking at the condition again. So each change has its event exactly once,
 * however many computations run at once and wherever one of them ends.
 * @returns null when the segment is gone.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function computeSegment(
  db: Database,
  segment: TrackedSegment,
  options: ComputationOptions,
): Promise<Computation | null> {
  const counted = { added: 0, removed: 0 };
  for (let isLast = false; !isLast;) {
    const contactIds = await listChanged(db, segment, options.now);
    const before = counted.added + counted.removed;
    for (let from = 0; from < contactIds.length; from += pageSize) {
      const page = contactIds.slice(from, from + pageSize);
      const changed = options.isOver?.() ? null : await recordChanges(db, segment, page, options);
      if (!changed) return finish(db, segment, { ...counted, isComplete: false });
      counted.added += changed.added;
      counted.removed += changed.removed;
      options.onDue(changed.due);
    }
    const isIdle = counted.added + counted.removed === before;
    isLast = contactIds.length < changesMax || isIdle;
  }
  return finish(db, segment, { ...counted, isComplete: true });
}

async function finish(
  db: Database,
  { id, project_id }: TrackedSegment,
  computed: Omit<Computation, 'total'>,
): Promise<Computation | null> {
  const segment = await findSegment(db, project_id, id);
  if (!segment) return null;
  const total = segment.track_membership ? await recordStoredCount(db, id) : segment.member_count;
  return { ...computed, total };
}

/** Contacts whose stored membership is not what the condition says; `changesMax` at most. */
async function listChanged(db: Database, segment: TrackedSegment, now: Date): Promise<string[]> {
  return withinConditionTime(db, async (tx) => {
    const holds = await membershipSql(tx, segment.project_id, segment.condition, now);
    // Both sides in one pass over the contacts.
    const { rows } = await sql<{ id: string }>`
      with matching as (
        select contact.id from contact where contact.project_id = ${segment.project_id} and ${holds}
      ), stored as (
        select contact_id from segment_member where segment_id = ${segment.id}
      )
      select coalesce(matching.id, stored.contact_id) as id
        from matching full join stored on stored.contact_id = matching.id
        where matching.id is null or stored.contact_id is null
        limit ${changesMax}`.execute(tx);
    return rows.map(({ id }) => id);
  });
}

/** Returns null when the segment is no longer what is being computed. */
async function recordChanges(
  db: Database,
  computed: TrackedSegment,
  contactIds: readonly string[],
  { now }: ComputationOptions,
): Promise<{ added: number; removed: number; due: Due } | null> {
  return transact(db, async (tx) => {
    const segment = await lockSegment(tx, computed.project_id, computed.id, { for: 'edit' });
    const isSame = isJsonEqual(segment?.condition, computed.condition);
    if (!segment?.track_membership || !isSame) return null;
    const holds = await membershipSql(tx, segment.project_id, computed.condition, now);
    const { rows: contacts } = await sql<{ id: string; holds: boolean }>`
      select contact.id, ${holds} as holds from contact
        where contact.id = any(${contactIds}::uuid[])
        order by contact.id for no key update of contact`.execute(tx);
    const ids = (holding: boolean) =>
      contacts.filter((contact) => contact.holds === holding).map(({ id }) => id);
    const changes = await updateMembers(tx, segment, { members: ids(true), others: ids(false) });
    const slug = segmentSlug(segment);
    const data = { segmentId: segment.id, segmentName: segment.name };
    const events = changes.map(({ contactId, entered }) => ({
      contactId,
      name: `segment.${slug}.${entered ? 'entry' : 'exit'}`,
      data,
    }));
    const { due } = await recordEvents(tx, segment.project_id, events, { contactsLocked: true });
    const added = changes.filter(({ entered }) => entered).length;
    return { added, removed: changes.length - added, due };
  });
}

/** Stores who is a member and who is none. Returns those for whom that was a change. */
async function updateMembers(
  tx: Database,
  segment: SegmentRow,
  { members, others }: { members: readonly string[]; others: readonly string[] },
): Promise<{ contactId: string; entered: boolean }[]> {
  const { rows } = await sql<{ contactId: string; entered: boolean }>`
    with entered as (
      insert into segment_member (segment_id, contact_id, project_id)
        select ${segment.id}, id, ${segment.project_id} from unnest(${members}::uuid[]) as id
        on conflict do nothing returning contact_id
    ), gone as (
      delete from segment_member
        where segment_id = ${segment.id} and contact_id = any(${others}::uuid[])
        returning contact_id
    )
    select contact_id as "contactId", true as entered from entered
      union all select contact_id, false from gone`.execute(tx);
  return rows;
}
