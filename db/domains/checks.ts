import { sql } from 'kysely';
import { dkimLabel } from '../../domain/sender/dkim-record.ts';
import {
  type DomainFinding,
  type DomainStatus,
  nextCheckMs,
  type RecordStates,
  stateAfterCheck,
  trackingAfterCheck,
} from '../../domain/sender/domain-check.ts';
import { type DomainKey, recordKey } from '../../domain/sender/sender-records.ts';
import { type Database, transact } from '../database.ts';
import { millisecondsUntil } from '../expressions.ts';
import {
  claimOf,
  domainColumns,
  type DomainOfRun,
  type DomainRow,
  isHeldElsewhere,
  signalPoller,
  trackingHostOf,
} from './domains.ts';
import { deleteKeys, deleteRemovedKeys, markKeysSeen, promoteNextKeys } from './keys.ts';
import { lockDomainName } from './ses-identities.ts';

/** Checks of sender domains: their results, and when the next one is due. */

/** Minimum time between two failed checks that count against a verified domain. */
const daily = sql`interval '24 hours'`;

/**
 * Stores the result of a check. A domain is not verified while another project holds its name. A
 * key whose record was found signs from now on. When the record of the next RSA key is found, the
 * next keys replace the current ones.
 * @param options.isScheduled true: the result is stored only when the regular check is due, so that
 * a repeated check counts once.
 * @returns undefined when the domain is deleted. `changed` when its signing or keys were changed
 * since the check, or this result has replaced the keys: the domain must then be checked again.
 */
export async function recordDomainCheck(
  db: Database,
  { id, name, revision }: Pick<DomainRow, 'id' | 'name' | 'revision'>,
  finding: DomainFinding,
  { isScheduled }: { isScheduled: boolean },
): Promise<DomainRow | 'changed' | undefined> {
  return transact(db, async (tx) => {
    // Lock the name before the row: if two projects are verified at the same time, one waits here
    // for the other.
    await lockDomainName(tx, name);
    const before = (await tx
      .selectFrom('domain')
      .select([...domainColumns, 'failed_checks', 'next_check_at', 'daily_check_at'])
      .select(['tracking_active', 'tracking_missed', 'tracking_since'])
      .select(sql<Date>`now()`.as('now'))
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst()) as CheckedRow | undefined;
    if (!before) return undefined;
    const { now, next_check_at: dueAt } = before;
    if (isScheduled && (dueAt === null || dueAt > now)) return before;
    if (before.revision !== revision) return 'changed';
    const keys = keysFound(before, finding);
    await markKeysSeen(tx, id, keys.seen);
    await deleteRemovedKeys(tx, id, keys.removed);
    if (before.signing === 'own') await deleteKeys(tx, id, 'dropped');
    if (keys.seen.some(({ state, algorithm }) => state === 'next' && algorithm === 'rsa')) {
      await promoteNextKeys(tx, id);
      await tx
        .updateTable('domain')
        .set({ revision: revision + 1 })
        .where('id', '=', id)
        .execute();
      return 'changed';
    }
    return storeState(tx, before, finding, { isScheduled, awaited: keys.unseen });
  });
}

type CheckedRow = DomainRow & {
  failed_checks: number;
  next_check_at: Date | null;
  daily_check_at: Date;
  tracking_active: boolean;
  tracking_missed: number;
  tracking_since: Date | null;
  now: Date;
};

/**
 * Returns the keys whose record was found for the first time, the keys whose record was never
 * found, and the previous keys whose record is no longer in DNS.
 */
function keysFound(
  row: CheckedRow,
  { records }: DomainFinding,
): { seen: DomainKey[]; unseen: DomainKey[]; removed: DomainKey[] } {
  const { name, keys } = claimOf(row);
  const stateOf = (key: DomainKey) =>
    records[recordKey({ type: 'TXT', name: `${dkimLabel(key)}._domainkey.${name}` })];
  const isFound = (key: DomainKey) => stateOf(key)?.status === 'verified';
  const unseen = keys.filter(({ seenAt, state }) => seenAt === null && state !== 'previous');
  return {
    seen: unseen.filter(isFound),
    unseen: unseen.filter((key) => !isFound(key)),
    removed: keys.filter((key) => {
      const state = stateOf(key);
      return key.state === 'previous' && state && !isFound(key);
    }),
  };
}

async function storeState(
  tx: Database,
  before: CheckedRow,
  finding: DomainFinding,
  { isScheduled, awaited }: { isScheduled: boolean; awaited: readonly DomainKey[] },
): Promise<DomainRow> {
  const { id, name, now } = before;
  const domain = {
    status: before.status,
    failedChecks: before.failed_checks,
    createdAt: before.created_at,
  };
  const wasVerified = before.status === 'verified';
  const isHeld = !wasVerified && (await isHeldElsewhere(tx, { id, name }));
  const isProven = finding.isProven || (wasVerified && finding.isFormerlyProven);
  const isDaily = isScheduled && before.daily_check_at <= now;
  const check = { isProven: isProven && !isHeld, isScheduled: isDaily, now };
  const { status, failedChecks } = stateAfterCheck(domain, check);
  const isNew = status === 'verified' && !wasVerified;
  const tracking = trackingAfter(before, finding, isDaily);
  const { tracking_since: since } = before;
  const isAwaited = since !== null && !tracking.isActive;
  const waiting = isAwaited ? [...awaited, { createdAt: since }] : awaited;
  const nextMs = nextCheckMs(status, waiting, now);
  const nextCheckAt = nextMs === null ? null : new Date(now.getTime() + nextMs);
  const row = (await tx
    .updateTable('domain')
    .set({
      status,
      failed_checks: failedChecks,
      record_states: JSON.stringify(statesAfter(before.record_states, finding)),
      // The records that are required now have been found once, so the former ones are no longer
      // needed.
      ...(finding.isProven ? { former_records: '[]', signing: finding.signing } : {}),
      // A domain that fails loses its tracking host, until a check finds the record again.
      tracking_active: tracking.isActive && status !== 'failed',
      tracking_missed: tracking.missed,
      last_checked_at: now,
      ...(isScheduled || status !== before.status ? { next_check_at: nextCheckAt } : {}),
      ...(isDaily || isNew ? { daily_check_at: sql<Date>`now() + ${daily}` } : {}),
      ...(isNew ? { verified_at: now } : {}),
      updated_at: now,
    })
    .where('id', '=', id)
    .returning(domainColumns)
    .executeTakeFirstOrThrow()) as DomainRow;
  // A failed domain has no regular checks. When it is verified again, they start again.
  if (before.status === 'failed' && status === 'verified') await signalPoller(tx, row);
  return row;
}

function trackingAfter(before: CheckedRow, { records }: DomainFinding, isScheduled: boolean) {
  const host = trackingHostOf(before);
  const record = host === null ? null : records[recordKey({ type: 'CNAME', name: host })];
  const state = { isActive: before.tracking_active, missed: before.tracking_missed };
  return trackingAfterCheck(state, { record: record ?? null, isScheduled });
}

/**
 * Returns the states of the records. Records that could not be looked up keep their previous state.
 */
function statesAfter(before: RecordStates, { records }: DomainFinding): RecordStates {
  return Object.fromEntries(
    Object.entries(records).flatMap(([key, state]) => {
      const known = state ?? before[key];
      return known ? [[key, known]] : [];
    }),
  );
}

/** Postpones a regular check that failed because a server did not respond. */
export async function postponeDomainCheck(db: Database, id: string): Promise<void> {
  await db
    .updateTable('domain')
    .set({ next_check_at: sql<Date>`now() + interval '5 minutes'` })
    .where('id', '=', id)
    .where('next_check_at', '<=', sql<Date>`now()`)
    .execute();
}

/**
 * Signals the runs of domains whose check is ten minutes overdue: such a run is lost, or was ended
 * in Temporal.
 */
export async function signalStalledPollers(db: Database, max: number): Promise<void> {
  await transact(db, async (tx) => {
    const { rows } = await sql<DomainOfRun>`
      update domain set next_reconcile_at = now() + interval '10 minutes'
        where id in (select id from domain
          where next_check_at < now() - interval '10 minutes' and next_reconcile_at < now()
          limit ${max} for update skip locked)
        returning id, project_id, name`.execute(tx);
    for (const row of rows) await signalPoller(tx, row);
  });
}

/**
 * Returns a domain's status and when its regular check is due; undefined: the domain is deleted.
 * `dueMs` null: the domain has failed, and has no regular checks.
 */
export async function findDomainDue(
  db: Database,
  id: string,
): Promise<{ status: DomainStatus; dueMs: number | null } | undefined> {
  const row = await db
    .selectFrom('domain')
    .select('status')
    .select(millisecondsUntil(sql`next_check_at`).as('dueMs'))
    .where('id', '=', id)
    .executeTakeFirst();
  return row && { status: row.status as DomainStatus, dueMs: row.dueMs };
}
