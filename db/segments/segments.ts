import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import { columnList, columnsOf } from '../columns.ts';
import type { Database } from '../database.ts';
import { anyOf, orderOf, type RowSize } from '../expressions.ts';
import type { Segment } from '../tables.ts';
import { type Condition, segmentIdsIn, segmentIdsOf } from '../../domain/filter/filter.ts';
import type { SegmentReferences, Segments } from '../../domain/filter/references.ts';
import { isUuid } from '../../domain/ids.ts';

export type SegmentRow = Omit<Selectable<Segment>, 'type' | 'condition'> &
  ({ type: 'DYNAMIC'; condition: Condition } | { type: 'STATIC'; condition: null });

/** Lists the ids and sizes of all segments of a project, newest first. */
export async function listSegments(db: Database, projectId: string): Promise<RowSize[]> {
  return db
    .selectFrom('segment')
    .select(['id', sql<number>`coalesce(octet_length(condition::text), 0)`.as('bytes')])
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Returns the segments with these ids, in this order. */
export async function readSegments(db: Database, ids: readonly string[]): Promise<SegmentRow[]> {
  const rows = await db
    .selectFrom('segment')
    .select(columnsOf('segment'))
    .where('id', '=', anyOf(ids))
    .orderBy(orderOf(ids, 'id'))
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
 * Finds a segment and locks it until the transaction ends. Lock contacts after the segment, never
 * before. `for: 'delete'` also prevents that campaigns and members are added to it.
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
 * Locks the references between a project's segments, so that changes of them run one after the
 * other. Otherwise two transactions could create a circle that neither of them sees.
 */
export async function lockSegmentReferences(tx: Database, projectId: string): Promise<void> {
  await tx
    .selectFrom('project')
    .select('id')
    .where('id', '=', projectId)
    .forNoKeyUpdate()
    .execute();
}

/** Lists the segments of a project that have a condition, by name. */
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

/**
 * Returns the references between the segments of a project: for all segments that refer to others,
 * and for those in `ids`. Conditions may be large, so only their field names are read.
 */
export async function listSegmentReferences(
  db: Database,
  projectId: string,
  ids: readonly string[],
): Promise<SegmentReferences> {
  const { rows } = await sql<{ id: string; fields: string[] }>`
    select id, coalesce(jsonb_path_query_array(condition, ${namedFields}), '[]') as fields
      from segment
      where project_id = ${projectId}
        and (id = ${anyOf(ids.filter(isUuid))} or jsonb_path_exists(condition, ${namedFields}))`.execute(
    db,
  );
  return new Map(rows.map(({ id, fields }) => [id, segmentIdsIn(fields)]));
}

/** JSON path of the fields in a condition that refer to a segment. */
const namedFields = sql.lit('$.**.field ? (@ starts with "segment.")');

/**
 * Returns the conditions that are needed to evaluate this one: those of the segments to which it
 * refers, directly or through others. There are at most `limits.segmentReach`, because
 * `segmentProblems` refuses more.
 */
export async function listConditionsFor(
  db: Database,
  projectId: string,
  condition: Condition,
): Promise<Segments> {
  return listSegmentsFrom(db, projectId, segmentIdsOf(condition));
}

/**
 * Returns the conditions of these segments, and of the segments to which they refer, directly or
 * through others.
 */
export async function listSegmentsFrom(
  db: Database,
  projectId: string,
  from: readonly string[],
): Promise<Segments> {
  const known = new Map<string, Condition | null>();
  const asked = new Set<string>();
  let ids = [...from];
  while (ids.length > 0) {
    for (const id of ids) asked.add(id);
    const rows = await db
      .selectFrom('segment')
      .select(['id', 'condition'])
      .where('project_id', '=', projectId)
      .where('id', '=', anyOf(ids.filter(isUuid)))
      .execute();
    const found = rows.map((row) => ({
      ...row,
      condition: row.condition as unknown as Condition | null,
    }));
    for (const { id, condition: own } of found) known.set(id, own);
    const next = found.flatMap(({ condition: own }) => (own ? segmentIdsOf(own) : []));
    ids = [...new Set(next)].filter((id) => !asked.has(id));
  }
  return known;
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

/**
 * Stores an edit by a caller, and its time. A new count alone is not an edit (see
 * `updateMemberCount`).
 */
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

/** Deletes a segment. Its members are deleted later, see `db/removals/`. */
export async function deleteSegment(tx: Database, id: string): Promise<void> {
  await tx.deleteFrom('segment').where('id', '=', id).execute();
}

/**
 * Claims the segment with the oldest count or computation, if it is at least `everyMinutes` old and
 * no other process has claimed it. The claim sets the segment's time to now, so if this process
 * dies, the segment becomes due again later.
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

/**
 * Makes a segment due again, because its computation was interrupted. Segments that have been due
 * for longer come first.
 */
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
