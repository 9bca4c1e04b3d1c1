import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { type Condition, segmentIdsOf } from '../../domain/filter/filter.ts';
import type { Segments } from '../../domain/filter/parse.ts';
import { columnList, columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import type { Segment } from '../tables.ts';

export type SegmentRow = Omit<Selectable<Segment>, 'type' | 'condition'> &
  ({ type: 'DYNAMIC'; condition: Condition } | { type: 'STATIC'; condition: null });

/** All segments of a project, newest first. */
export async function listSegments(db: Database, projectId: string): Promise<SegmentRow[]> {
  const rows = await db
    .selectFrom('segment')
    .select(columnsOf('segment'))
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
  return rows as unknown as SegmentRow[];
}

export async function findSegment(
  db: Database,
  projectId: string,
  id: string,
): Promise<SegmentRow | undefined> {
  const row = await db
    .selectFrom('segment')
    .select(columnsOf('segment'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row as unknown as SegmentRow | undefined;
}

/**
 * Finds a segment and locks it until the transaction ends; contacts are locked after it, never
 * before. `for: 'delete'` also keeps campaigns and members from being added to it.
 */
export async function lockSegment(
  tx: Database,
  projectId: string,
  id: string,
  options: { for: 'edit' | 'delete' },
): Promise<SegmentRow | undefined> {
  const query = tx
    .selectFrom('segment')
    .select(columnsOf('segment'))
    .where('project_id', '=', projectId)
    .where('id', '=', id);
  const row = await (
    options.for === 'edit' ? query.forNoKeyUpdate() : query.forUpdate()
  ).executeTakeFirst();
  return row as unknown as SegmentRow | undefined;
}

/**
 * What the segments of a project say of each other changes one transaction after the other: two
 * that make segments name each other would both find nothing wrong otherwise.
 */
export async function lockSegmentReferences(tx: Database, projectId: string): Promise<void> {
  await tx
    .selectFrom('project')
    .select('id')
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .execute();
}

/** The segments of a project that have a condition, by name. */
export async function listDynamicSegments(
  db: Database,
  projectId: string,
): Promise<{ id: string; name: string; condition: Condition }[]> {
  const rows = await db
    .selectFrom('segment')
    .select(['id', 'name', 'condition'])
    .where('project_id', '=', projectId)
    .where('condition', 'is not', null)
    .orderBy('name')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ ...row, condition: row.condition as unknown as Condition }));
}

/** The conditions of all segments of a project. */
export async function listSegmentConditions(db: Database, projectId: string): Promise<Segments> {
  const rows = await db
    .selectFrom('segment')
    .select(['id', 'condition'])
    .where('project_id', '=', projectId)
    .execute();
  return new Map(rows.map(({ id, condition }) => [id, condition as unknown as Condition | null]));
}

/** The conditions that are needed to evaluate one: those of all segments if it names any. */
export async function listConditionsFor(
  db: Database,
  projectId: string,
  condition: Condition,
): Promise<Segments> {
  return segmentIdsOf(condition).length === 0 ? new Map() : listSegmentConditions(db, projectId);
}

export async function insertSegment(
  tx: Database,
  {
    condition,
    ...values
  }: Omit<Insertable<Segment>, 'condition'> & { condition: Condition | null },
): Promise<SegmentRow> {
  const row = await tx
    .insertInto('segment')
    .values({ ...values, condition: condition && JSON.stringify(condition) })
    .returning(columnsOf('segment'))
    .executeTakeFirstOrThrow();
  return row as unknown as SegmentRow;
}

/** Writes an edit by a person; a new count alone is none (see `updateMemberCount`). */
export async function updateSegment(
  tx: Database,
  id: string,
  { condition, ...values }: Omit<Updateable<Segment>, 'condition'> & { condition?: Condition },
): Promise<SegmentRow> {
  const row = await tx
    .updateTable('segment')
    .set({
      ...values,
      ...(condition ? { condition: JSON.stringify(condition) } : {}),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(columnsOf('segment'))
    .executeTakeFirstOrThrow();
  return row as unknown as SegmentRow;
}

/** Stores a count that was made just now. */
export async function updateMemberCount(
  db: Database,
  id: string,
  memberCount: number,
): Promise<void> {
  await db
    .updateTable('segment')
    .set({ member_count: memberCount, computed_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

export async function deleteSegment(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('segment').where('id', '=', id).execute();
}

/** What would be left without a segment, or mean something else. */
export interface SegmentUsers {
  campaigns: { id: string; name: string; status: string }[];
  segments: { id: string; name: string }[];
}

/** Campaigns that are not over and segments that refer to a segment, oldest first. */
export async function listSegmentUsers(
  db: Database,
  projectId: string,
  id: string,
): Promise<SegmentUsers> {
  // A condition can hold the words in another place, too: the exact look is the second one.
  const mentions = (column: 'audience_condition' | 'condition') =>
    sql<boolean>`strpos(${sql.ref(column)}::text, ${`"segment.${id}"`}) > 0`;
  const names = (condition: unknown) =>
    condition !== null && segmentIdsOf(condition as Condition).includes(id);
  const campaigns = await db
    .selectFrom('campaign')
    .select(['id', 'name', 'status', 'segment_id', 'audience_condition'])
    .where('project_id', '=', projectId)
    .where('status', 'in', ['DRAFT', 'SCHEDULED', 'SENDING', 'PAUSED'])
    .where((or) => or.or([or('segment_id', '=', id), mentions('audience_condition')]))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  const segments = await db
    .selectFrom('segment')
    .select(['id', 'name', 'condition'])
    .where('project_id', '=', projectId)
    .where('id', '<>', id)
    .where(mentions('condition'))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return {
    campaigns: campaigns
      .filter((row) => row.segment_id === id || names(row.audience_condition))
      .map(({ id, name, status }) => ({ id, name, status })),
    segments: segments.filter((row) => names(row.condition)).map(({ id, name }) => ({ id, name })),
  };
}

/**
 * Claims the segment that was not counted or computed for longest, if it is that many minutes ago
 * and nobody works on it. The claim is its new time: should this process die, it is done the next
 * time round.
 */
export async function claimDueSegment(
  db: Database,
  everyMinutes: number,
): Promise<SegmentRow | undefined> {
  const { rows } = await sql<SegmentRow>`
    update segment set computed_at = now()
      where id in (select segment.id from segment join project on project.id = segment.project_id
        where segment.computed_at <= now() - ${everyMinutes} * interval '1 minute'
          and project.disabled_reason is null
        order by segment.computed_at limit 1 for no key update of segment skip locked)
      returning ${columnList('segment')}`.execute(db);
  return rows[0];
}

/** Makes a segment due again, after those that are due for longer: its computation was cut short. */
export async function updateSegmentDue(
  db: Database,
  id: string,
  everyMinutes: number,
): Promise<void> {
  await db
    .updateTable('segment')
    .set({ computed_at: sql<Date>`now() - ${everyMinutes} * interval '1 minute'` })
    .where('id', '=', id)
    .execute();
}
