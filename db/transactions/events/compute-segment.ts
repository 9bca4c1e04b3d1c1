import { sql } from 'kysely';
import { withinConditionTime } from '../../bounded.ts';
import { type Database, transact } from '../../database.ts';
import { completeRemoval, hasRemoval } from '../../removals/removals.ts';
import { membershipSql, recordStoredCount } from '../../segments/members.ts';
import { type SegmentRow, findSegment, lockSegment } from '../../segments/segments.ts';
import { recordEvents } from './record-events.ts';
import { segmentSlug } from '../../../domain/contact/segment-slug.ts';
import { isJsonEqual } from '../../../domain/filter/value.ts';

/** The membership of a tracked segment, and its entry and exit events. */

type TrackedSegment = SegmentRow & { type: 'DYNAMIC' };

export interface ComputationOptions {
  /** The moment for which the condition is evaluated. */
  now: Date;
  /** True when it is time to stop: the next computation does the rest. */
  isOver?: () => boolean;
}

export interface Computation {
  added: number;
  removed: number;
  /** Number of members afterwards. */
  total: number;
  /** False if the computation was interrupted: its time was over, or the segment was changed. */
  isComplete: boolean;
}

/**
 * Maximum number of changed contacts that one query returns. All their ids are in memory at once.
 */
const changesMax = 100_000;

/** Number of contacts in one transaction: few, because the transaction locks them. */
const pageSize = 1000;

/**
 * Updates the stored members of a tracked segment to its condition, with an entry or exit event for
 * each contact that changed. A page changes memberships and records their events in one
 * transaction, under the locks of the segment and its contacts, after checking the condition again.
 * So each change has exactly one event, even if several computations run at once, or one is
 * interrupted.
 * @returns null when the segment is gone.
 * @throws Problem CONDITION_TOO_HEAVY
 */
export async function computeSegment(
  db: Database,
  segment: TrackedSegment,
  options: ComputationOptions,
): Promise<Computation | null> {
  const counted = { added: 0, removed: 0 };
  const isOver = options.isOver ?? (() => false);
  // First deletes the members that were stored before tracking was switched off and on again.
  const isEmptied = await completeRemoval(db, segment.id, isOver);
  if (!isEmptied) return finish(db, segment, { ...counted, isComplete: false });
  for (let isLast = false; !isLast;) {
    const contactIds = await listChanged(db, segment, options.now);
    const before = counted.added + counted.removed;
    for (let from = 0; from < contactIds.length; from += pageSize) {
      const page = contactIds.slice(from, from + pageSize);
      const changed = isOver() ? null : await recordChanges(db, segment, page, options);
      if (!changed) return finish(db, segment, { ...counted, isComplete: false });
      counted.added += changed.added;
      counted.removed += changed.removed;
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

/** Lists contacts whose stored membership differs from the condition, at most `changesMax`. */
async function listChanged(db: Database, segment: TrackedSegment, now: Date): Promise<string[]> {
  return withinConditionTime(db, async (tx) => {
    const holds = await membershipSql(tx, segment.project_id, segment.condition, now);
    // Finds contacts that enter and contacts that leave in one scan of the contacts.
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

/**
 * Changes the members on a page and records their events. Returns null when the segment has been
 * changed meanwhile.
 */
async function recordChanges(
  db: Database,
  computed: TrackedSegment,
  contactIds: readonly string[],
  { now }: ComputationOptions,
): Promise<{ added: number; removed: number } | null> {
  return transact(db, async (tx) => {
    const segment = await lockSegment(tx, computed.project_id, computed.id, { for: 'edit' });
    const isSame = isJsonEqual(segment?.condition, computed.condition);
    if (!segment?.track_membership || !isSame || (await hasRemoval(tx, segment.id))) return null;
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
    await recordEvents(tx, segment.project_id, events, { contactsLocked: true });
    const added = changes.filter(({ entered }) => entered).length;
    return { added, removed: changes.length - added };
  });
}

/** Stores the memberships of a page. Returns the contacts that have entered or left. */
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
