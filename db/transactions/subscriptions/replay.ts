import { sql } from 'kysely';
import { notifyAfterCommit } from '../../commits.ts';
import { type Database, transact } from '../../database.ts';
import { endJob, insertJob, type JobRef, lockOpenJob, updateJobProgress } from '../../jobs/jobs.ts';
import { itemsMatch } from '../../sql/subscribed-events.ts';
import { lockSubscription, signalSubscription } from '../../subscriptions/subscriptions.ts';
import { historyPage, type HistoryPlace, selectHistory, storeHistory } from './store-history.ts';
import type { ReplayData } from '../../../domain/job.ts';
import { notedSubscription } from '../../../domain/runs/runs.ts';

/** A job that sends a subscription its events again. */

interface ReplayState {
  /** The last event that was checked; null: none. */
  after: HistoryPlace | null;
  /** The progress `done` is in percent of the time span. */
  total: 100;
}

/**
 * Accepts a replay, in the caller's transaction. A subscription has at most one open replay.
 * @param ref.projectId the id of the project's row; `data.projectId` is the project's public id
 */
export async function insertReplay(
  tx: Database,
  ref: JobRef,
  { causedBy, ...data }: ReplayData & { causedBy: string },
): Promise<'accepted' | 'missing' | 'disabled' | { inProgress: string }> {
  const { projectId, jobId } = ref;
  const { subscriptionId } = data;
  const subscription = await lockSubscription(tx, projectId, subscriptionId);
  if (!subscription) return 'missing';
  if (!subscription.enabled) return 'disabled';
  const open = await tx
    .selectFrom('job')
    .select('id')
    .where('subscription_id', '=', subscriptionId)
    .where('state', 'in', [sql.lit('waiting'), sql.lit('active')])
    .executeTakeFirst();
  if (open) return { inProgress: open.id };
  const request: ReplayState = { after: null, total: 100 };
  const job = { id: jobId, projectId, kind: 'replay' as const, subscriptionId, data, request };
  await insertJob(tx, { ...job, causedBy });
  return 'accepted';
}

/**
 * Makes the deliveries of one page of a replay's events pending, in recorded order. Returns true
 * when nothing is left to do.
 */
export async function recordReplayPage(db: Database, ref: JobRef): Promise<boolean> {
  return transact(db, async (tx) => {
    // The order of locks is project, subscription, job, as when a subscription is disabled or
    // deleted.
    await sql`select from project where id = ${ref.projectId} for share`.execute(tx);
    const { rows } = await sql<{ id: string; events: string[]; epoch: number }>`
      select id, events, epoch from event_subscription
        where id = (select subscription_id from job where id = ${ref.jobId})
          and project_id = ${ref.projectId} for share`.execute(tx);
    const job = await lockOpenJob(tx, ref);
    const [subscription] = rows;
    if (!job || !subscription) return true;
    const data = job.data as unknown as ReplayData;
    const { after } = job.request as unknown as ReplayState;
    const { replayed = 0 } = (job.result ?? {}) as { replayed?: number };
    const page = await replayPage(tx, { ...subscription, projectId: ref.projectId }, data, after);
    const result = { replayed: replayed + page.made };
    await updateJobProgress(tx, job.id, {
      done: Math.floor(100 * shareOf(data, page.after?.at ?? data.from)),
      total: 100,
      result,
      request: { after: page.after, total: 100 },
    });
    if (page.isOver) {
      await endJob(tx, job.id, { state: 'completed' });
      await signalSubscription(tx, { id: subscription.id, project_id: ref.projectId });
      return true;
    }
    notifyAfterCommit(tx, [notedSubscription(ref.projectId, subscription.id)]);
    return false;
  });
}

/** Returns how much of the time span is done, from 0 to 1. */
function shareOf({ from, to }: ReplayData, at: string): number {
  const span = Math.max(1, Date.parse(to) - Date.parse(from));
  return Math.min(1, Math.max(0, (Date.parse(at) - Date.parse(from)) / span));
}

async function replayPage(
  tx: Database,
  subscription: { id: string; projectId: string; events: string[]; epoch: number },
  { from, to, eventName, onlyFailed }: ReplayData,
  after: HistoryPlace | null,
) {
  const { id, projectId, events: items, epoch } = subscription;
  const span = { projectId, from, to, eventName, items, after };
  const until = await storeHistory(tx, span);
  const { rows } = await sql<{ rowsRead: number; made: number; at: string | null; id: string }>`
    with page as materialized (${selectHistory(span, until)}), made as (
      insert into event_delivery (subscription_id, event_id, project_id, contact_id, event_name,
          created_at, recorded_at, epoch, due_at, is_retry)
        select ${id}, id, ${projectId}, contact_id, name, created_at, recorded_at, ${epoch},
            statement_timestamp(), true
          from page where ${itemsMatch(sql`${items}::text[]`, sql`page.name`)}
        on conflict (subscription_id, event_id) do update set status = 'pending', reason = null,
            tries = 0, is_retry = true, urgent = false, turn = event_delivery.turn + 1,
            batch_turn = null, epoch = excluded.epoch, due_at = excluded.due_at,
            pending_since = now(), ended_at = null, updated_at = now()
          -- A pending delivery of an earlier epoch will be skipped, so it is replayed, too.
          where (event_delivery.status <> 'pending' or event_delivery.epoch < excluded.epoch)
            and (${!onlyFailed} or event_delivery.status <> 'delivered')
        returning event_id
    )
    select (select count(*)::int from page) as "rowsRead", (select count(*)::int from made) as made,
        last.created_at::text as at, last.id
      from (select) as always
      left join lateral (select created_at, id from page order by created_at desc, id desc limit 1)
        last on true`.execute(tx);
  const { rowsRead = 0, made = 0, at = null, id: lastId = '' } = rows[0] ?? {};
  const isOver = until === null && rowsRead < historyPage;
  return { made, isOver, after: at === null ? after : { at, id: lastId } };
}
