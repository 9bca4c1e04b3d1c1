import { type Selectable, sql } from 'kysely';
import type { Position } from '../../domain/cursor.ts';
import type { FileKind } from '../../domain/files/kinds.ts';
import { limits } from '../../domain/limits.ts';
import type { Database } from '../database.ts';
import { countRows } from '../expressions.ts';
import { columns, type Plan } from '../tables.ts';

/** Plans: changes of a project by files. */

export type PlanRow = Selectable<Plan>;

export type PlanState = 'open' | 'applied';

/** An object that a plan depends on, as it was when the plan was made. */
export interface PlanRead {
  kind: FileKind;
  key: string;
  /** Null: there was no such object, or it is a policy. */
  id: string | null;
  /**
   * The encrypted hash of its value, also of the parts that answers hide; null: there was no such
   * object.
   */
  hash: string | null;
  /** Sender domains that its file uses. */
  domains?: readonly string[];
}

/** Columns of the request, which only apply reads. */
const requestColumns = ['files', 'variables', 'reads'] as const;
/** Large columns, which lists leave out. */
const largeColumns = [...requestColumns, 'changes', 'warnings'] as const;

/** A plan as the API shows it. */
export type ShownPlan = Omit<PlanRow, (typeof requestColumns)[number]>;
export type ListedPlan = Omit<PlanRow, (typeof largeColumns)[number]>;

const shownColumns = without(requestColumns);
const listedColumns = without(largeColumns);

function without<Left extends keyof PlanRow>(
  left: readonly Left[],
): Exclude<keyof PlanRow, Left>[] {
  const names: readonly string[] = left;
  return columns.plan.filter(
    (column): column is Exclude<keyof PlanRow, Left> => !names.includes(column),
  );
}

/** True for plans that can still be read. */
const isKept = sql<boolean>`(expires_at is null or expires_at > now())`;

/** Milliseconds that a plan waits for other plans and applies of its project. */
const planWaitMs = 30_000;
/** The statement that waits may take this much longer, so that the wait ends first. */
const graceMs = 5_000;

/**
 * Makes plans and applies of a project run one after the other, until the end of the transaction.
 * @throws 55P03 if the others take longer than `waitMs`
 */
export async function lockPlans(
  tx: Database,
  projectId: string,
  waitMs = planWaitMs,
): Promise<void> {
  await sql`select set_config('lock_timeout', ${String(waitMs)}, true),
    set_config('statement_timeout', ${String(waitMs + graceMs)}, true)`.execute(tx);
  await sql`select pg_advisory_xact_lock(hashtextextended(${`plan ${projectId}`}, 0))`.execute(tx);
  await sql`set local lock_timeout to default`.execute(tx);
  await sql`set local statement_timeout to default`.execute(tx);
}

/**
 * Inserts an open plan. Deletes the oldest open ones above the number and the bytes that a project
 * keeps.
 */
export async function insertPlan(
  tx: Database,
  plan: {
    projectId: string;
    createdBy: string;
    /** The encrypted texts by path. */
    files: Readonly<Record<string, string>>;
    variables: Readonly<Record<string, string>>;
    reads: readonly PlanRead[];
    summary: object;
    changes: readonly object[];
    warnings: readonly object[];
  },
): Promise<ListedPlan> {
  const { projectId, createdBy, summary, ...large } = plan;
  const written = {
    files: JSON.stringify(large.files),
    variables: JSON.stringify(large.variables),
    reads: JSON.stringify(large.reads),
    changes: JSON.stringify(large.changes),
    warnings: JSON.stringify(large.warnings),
  };
  const bytes = Object.values(written).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const row = await tx
    .insertInto('plan')
    .values({
      project_id: projectId,
      created_by: createdBy,
      summary: JSON.stringify(summary),
      bytes,
      ...written,
    })
    .returning(listedColumns)
    .executeTakeFirstOrThrow();
  await sql`
    delete from plan where project_id = ${projectId} and state = 'open' and id <> ${row.id}
      and id in (select inner_newest.id from (
        select inner_plan.id,
            row_number() over newest as number, sum(inner_plan.bytes) over newest as bytes
          from plan inner_plan
          where inner_plan.project_id = ${projectId} and inner_plan.state = 'open'
          window newest as (order by inner_plan.created_at desc, inner_plan.id desc)
      ) inner_newest where inner_newest.number > ${limits.openPlans}
        or inner_newest.bytes > ${limits.openPlanBytes})`.execute(tx);
  return row;
}

/** Finds a plan of a project; expired ones are not found. */
export async function findPlan(
  db: Database,
  projectId: string,
  id: string,
): Promise<ShownPlan | undefined> {
  return keptPlan(db, projectId, id).executeTakeFirst();
}

/** Finds a plan as `findPlan`, and locks it until the end of the transaction. */
export async function lockPlan(
  tx: Database,
  projectId: string,
  id: string,
): Promise<ShownPlan | undefined> {
  return keptPlan(tx, projectId, id).forUpdate().executeTakeFirst();
}

function keptPlan(db: Database, projectId: string, id: string) {
  return db
    .selectFrom('plan')
    .select(shownColumns)
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .where(isKept);
}

/** The request of an open plan. */
export interface PlanRequest {
  /** The encrypted texts by path. */
  files: Readonly<Record<string, string>>;
  variables: Readonly<Record<string, string>>;
  reads: readonly PlanRead[];
}

/**
 * Returns the request of an open plan, with the texts of some of its files; null: it is applied, or
 * gone.
 */
export async function findPlanRequest(
  db: Database,
  id: string,
  paths: readonly string[],
): Promise<PlanRequest | null> {
  const { rows } = await sql<PlanRequest>`
    select variables, reads, (select coalesce(jsonb_object_agg(path, files -> path), '{}')
        from unnest(${paths}::text[]) as named(path)) as files
      from plan where id = ${id} and state = 'open'`.execute(db);
  return rows[0] ?? null;
}

/** Lists plans, newest first, without the large columns. `total` is 0 on later pages. */
export async function listPlans(
  db: Database,
  projectId: string,
  {
    state,
    after,
    limit,
  }: { state: PlanState | undefined; after: Position | undefined; limit: number },
): Promise<{ rows: ListedPlan[]; total: number }> {
  const matching = db
    .selectFrom('plan')
    .where('project_id', '=', projectId)
    .where(isKept)
    .$if(state !== undefined, (query) => query.where('state', '=', state ?? ''));
  const rows = await matching
    .select(listedColumns)
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(created_at, id) < (${after?.value}::timestamptz, ${after?.id}::uuid)`,
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  return { rows, total: after ? 0 : await countRows(matching) };
}

/**
 * Stores the result of a plan that is applied, and drops its files. Deletes the oldest applied
 * plans above the number that a project keeps.
 */
export async function completePlan(
  tx: Database,
  { id, project_id: projectId }: Pick<PlanRow, 'id' | 'project_id'>,
  applied: { appliedBy: string; migrate: 'none' | 'auto'; note: string | null; result: object },
): Promise<ShownPlan> {
  const row = await tx
    .updateTable('plan')
    .set({
      state: 'applied',
      files: null,
      variables: null,
      reads: null,
      expires_at: null,
      bytes: 0,
      applied_at: sql<Date>`now()`,
      applied_by: applied.appliedBy,
      migrate: applied.migrate,
      note: applied.note,
      result: JSON.stringify(applied.result),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', id)
    .returning(shownColumns)
    .executeTakeFirstOrThrow();
  await tx
    .deleteFrom('plan')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('plan as inner_old')
        .select('inner_old.id')
        .where('inner_old.project_id', '=', projectId)
        .where('inner_old.state', '=', 'applied')
        .where('inner_old.id', '<>', id)
        .orderBy('inner_old.created_at', 'desc')
        .orderBy('inner_old.id', 'desc')
        .offset(limits.appliedPlans - 1),
    )
    .execute();
  return row;
}
