import { type Insertable, type Selectable, sql } from 'kysely';
import { columnsOf } from '../columns.ts';
import { type Database, transact } from '../database.ts';
import { millisecondsUntil } from '../expressions.ts';
import { enqueue } from '../outbox/outbox.ts';
import type { Ramp } from '../tables.ts';
import { adoptMail, settleRamps } from './counts.ts';
import { capOfDay, daysPassed, type StoppedFor } from '../../domain/sender/ramp.ts';

/** Ramps: rising daily limits of mail by a mail provider, from a sender domain, or both. */

export type RampRow = Selectable<Ramp>;

/**
 * Locks the ramps of a project, so that transactions that create ramps run one after the other and
 * the limit holds for all.
 */
export async function lockRamps(tx: Database, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`ramps ${projectId}`}, 0))`.execute(tx);
}

/** Lists the ramps of a project, newest first; at most `limits.ramps`. */
export async function listRamps(db: Database, projectId: string): Promise<RampRow[]> {
  return db
    .selectFrom('ramp')
    .select(columnsOf('ramp'))
    .where('project_id', '=', projectId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

export async function findRamp(
  db: Database,
  projectId: string,
  id: string,
): Promise<RampRow | undefined> {
  return db
    .selectFrom('ramp')
    .select(columnsOf('ramp'))
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/**
 * Locks a ramp until the transaction ends, so that its counts and settings do not change;
 * undefined: it is deleted.
 */
export async function lockRamp(
  tx: Database,
  id: string,
): Promise<(RampRow & { now: Date }) | undefined> {
  return tx
    .selectFrom('ramp')
    .select(columnsOf('ramp'))
    .select(sql<Date>`clock_timestamp()`.as('now'))
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Inserts a ramp, whose first day begins now, and signals its run. */
export async function insertRamp(
  tx: Database,
  values: Omit<Insertable<Ramp>, 'day_ends_at' | 'reconcile_at'> & { day_seconds: number },
): Promise<RampRow> {
  const row = await tx
    .insertInto('ramp')
    .values({
      ...values,
      day_ends_at: sql<Date>`now() + make_interval(secs => ${values.day_seconds})`,
    })
    .returning(columnsOf('ramp'))
    .executeTakeFirstOrThrow();
  await tx
    .insertInto('ramp_period')
    .values({ ramp_id: row.id, number: 1, day: 1, started_at: row.created_at })
    .execute();
  await adoptMail(tx, row);
  await signalRamp(tx, row);
  return row;
}

/** Seconds after which the sweep signals the run of a changed ramp again. */
const graceSeconds = 60;

/** Signals the run of a changed ramp to read its row, in the caller's transaction. */
export async function signalRamp(
  tx: Database,
  { id, project_id: projectId }: Pick<RampRow, 'id' | 'project_id'>,
): Promise<void> {
  await tx
    .updateTable('ramp')
    .set({ reconcile_at: sql<Date>`now() + make_interval(secs => ${graceSeconds})` })
    .where('id', '=', id)
    .execute();
  await enqueue(tx, {
    kind: 'ramp',
    input: { projectId, rampId: id },
    summary: 'Ramp of a mail provider or sender domain',
  });
}

/**
 * Begins the due days of a locked ramp; after the last day, the ramp is DONE. Returns the changed
 * ramp.
 */
export async function passDays<R extends RampRow>(tx: Database, ramp: R, now: Date): Promise<R> {
  const { day_ends_at: endsAt, day_seconds: daySeconds } = ramp;
  const passed = daysPassed(endsAt, daySeconds, now);
  if (passed === 0 || endsAt === null) return ramp;
  const day = Math.min(ramp.day + passed, ramp.days);
  const isDone = ramp.day + passed > ramp.days;
  const nextEnd = new Date(endsAt.getTime() + passed * daySeconds * 1000);
  // Missed days also get periods, which begin when the days were due.
  await sql`
    insert into ramp_period (ramp_id, number, day, started_at)
      select ${ramp.id}, last.number + passed, last.day + passed,
          ${endsAt}::timestamptz + make_interval(secs => ${daySeconds} * (passed - 1))
        from (select max(number) as number, max(day) as day from ramp_period
            where ramp_id = ${ramp.id}) as last,
          generate_series(1, ${day - ramp.day}::int) as passed`.execute(tx);
  const change = {
    day,
    day_ends_at: isDone ? null : nextEnd,
    ...(isDone ? { status: 'DONE' } : {}),
  };
  await tx
    .updateTable('ramp')
    .set({ ...change, updated_at: sql<Date>`now()` })
    .where('id', '=', ramp.id)
    .execute();
  if (isDone) {
    await settleRamps(tx, [ramp.id]);
    await tx.deleteFrom('ramp_mail').where('ramp_id', '=', ramp.id).execute();
  }
  return { ...ramp, ...change };
}

/** Pauses a locked, running ramp. The rest of the current day is kept for `resumeRamp`. */
export async function haltRamp(
  tx: Database,
  ramp: RampRow,
  change:
    | { status: 'PAUSED' }
    | { status: 'STOPPED'; stopped_for: string; unreported_stop: string },
): Promise<void> {
  await tx
    .updateTable('ramp')
    .set({
      ...change,
      day_left_ms: sql<number>`${millisecondsUntil(sql`day_ends_at`)}::int`,
      day_ends_at: null,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', ramp.id)
    .execute();
  await signalRamp(tx, ramp);
}

/** Continues the current day of a locked ramp. Only mail from now on counts for its threshold. */
export async function resumeRamp(tx: Database, ramp: RampRow): Promise<void> {
  const { rows } = await sql<{ number: number }>`
    insert into ramp_period (ramp_id, number, day, started_at)
      select ramp_id, max(number) + 1, ${ramp.day}, now() from ramp_period
        where ramp_id = ${ramp.id} group by ramp_id
      returning number`.execute(tx);
  await tx
    .updateTable('ramp')
    .set({
      status: 'RUNNING',
      stopped_for: null,
      day_ends_at: sql<Date>`now() + make_interval(secs => day_left_ms / 1000.0)`,
      day_left_ms: null,
      judged_from: rows[0]?.number ?? 1,
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', ramp.id)
    .execute();
  await signalRamp(tx, ramp);
}

/** Deletes a locked ramp, whose run then ends. */
export async function deleteRamp(tx: Database, ramp: RampRow): Promise<void> {
  await signalRamp(tx, ramp);
  await tx.deleteFrom('ramp').where('id', '=', ramp.id).execute();
}

/** A ramp as its run shows it. */
export interface RampProgress extends Pick<RampRow, 'status' | 'day' | 'days'> {
  used: number;
  cap: number;
  /** Milliseconds since the current day began, or since the ramp was resumed on this day. */
  sinceMs: number;
  /** Milliseconds until the next day of the ramp; null: the ramp is not running. */
  dueMs: number | null;
  /** Seconds in a day of the ramp. */
  daySeconds: number;
}

/** Begins the due days of a ramp. Returns the state of the ramp; null: the ramp is deleted. */
export async function advanceRamp(db: Database, id: string): Promise<RampProgress | null> {
  return transact(db, async (tx) => {
    const locked = await lockRamp(tx, id);
    if (!locked) return null;
    const { now, ...ramp } = await passDays(tx, locked, locked.now);
    const { status, day, days, day_ends_at: endsAt, day_seconds: daySeconds } = ramp;
    await tx
      .updateTable('ramp')
      .set({
        reconcile_at: sql<Date>`case status when 'DONE' then now() else day_ends_at end
          + make_interval(secs => ${graceSeconds})`,
      })
      .where('id', '=', id)
      .execute();
    // A claim that ran while the ramp was created did not see the ramp.
    if (status !== 'DONE') await adoptMail(tx, ramp);
    const used = (await settleRamps(tx, [id])).get(id) ?? 0;
    const { at } = await tx
      .selectFrom('ramp_period')
      .select((of) => of.fn.max('started_at').as('at'))
      .where('ramp_id', '=', id)
      .executeTakeFirstOrThrow();
    return {
      status,
      day,
      days,
      used,
      cap: capOfDay({ startPerDay: ramp.start_per_day, factor: ramp.factor }, day),
      sinceMs: now.getTime() - at.getTime(),
      dueMs: endsAt && endsAt.getTime() - now.getTime(),
      daySeconds,
    };
  });
}

/** Records that a ramp that is DONE holds no mail, so its run ends. */
export async function endRamp(db: Database, id: string): Promise<void> {
  await db.updateTable('ramp').set({ reconcile_at: null }).where('id', '=', id).execute();
}

/** A stop about which the administrators of the project must be informed. */
export interface UnreportedStop {
  projectId: string;
  /** The domain or the provider of the ramp. */
  scope: { domain: string | null; providerId: string | null };
  stoppedFor: StoppedFor;
  rate: number;
}

/** Returns a stop that is not reported yet, and marks it as reported; null: there is none. */
export async function takeUnreportedStop(tx: Database, id: string): Promise<UnreportedStop | null> {
  const ramp = await lockRamp(tx, id);
  if (!ramp?.unreported_stop) return null;
  await tx.updateTable('ramp').set({ unreported_stop: null }).where('id', '=', id).execute();
  const { project_id: projectId, domain, provider_id: providerId } = ramp;
  const { stoppedFor, rate } = ramp.unreported_stop as unknown as UnreportedStop;
  return { projectId, scope: { domain, providerId }, stoppedFor, rate };
}

/**
 * Signals the runs of ramps that should have acted: such a run is lost, or was ended in Temporal.
 */
export async function signalStalledRamps(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const late = await tx
      .selectFrom('ramp')
      .select(['id', 'project_id'])
      .where('reconcile_at', '<', sql<Date>`now()`)
      .limit(max)
      .forUpdate()
      .skipLocked()
      .execute();
    for (const ramp of late) await signalRamp(tx, ramp);
  });
}
