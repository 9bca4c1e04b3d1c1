import type { Database } from '../../db/database.ts';
import { readBacklogPage } from '../../db/transactions/subscriptions/backlog.ts';
import { findWork, readPage, skipOutdated } from '../../db/subscriptions/log.ts';
import {
  findProbe,
  listDue,
  listDueForBatches,
  readDeliveries,
  type Ready,
} from '../../db/subscriptions/due.ts';
import {
  deleteDeliveries,
  endLease,
  findNextDue,
  findTarget,
  releasePage,
  skipGone,
  takeLease,
  type Target,
} from '../../db/subscriptions/sending.ts';
import { limits } from '../../domain/limits.ts';
import { chooseDue, requestsMax, type Unit } from '../../domain/subscription/choice.ts';
import { batchFit } from '../../domain/subscription/request.ts';
import { pause, timeBoxed } from '../running/time-box.ts';
import { createPaces, type Pace } from './pace.ts';
import {
  batchItems,
  type EventRequest,
  type ReadyEvent,
  type RequestServices,
  sendDeliveries,
} from './request.ts';

export type SubscriptionActivities = ReturnType<typeof createSubscriptionActivities>;

/** The work that is left after a time slice. */
export interface SubscriptionRest {
  /** null: the subscription was deleted with its deliveries. */
  state: Target['state'] | null;
  /** Milliseconds until the run must continue (0: at once); null: only a signal continues it. */
  nextDueMs: number | null;
  requests: number;
}

export interface SubscriptionServices extends RequestServices {
  log: { warn(details: object, message: string): void };
}

/**
 * Time slice in milliseconds. The slice is long, because its end must wait for the last request. No
 * other work waits for these activities, because they have their own task queue.
 */
const sliceMs = 300_000;
/** Time slice in milliseconds while other subscriptions wait for a worker slot. */
const crowdedSliceMs = 10_000;
/** Milliseconds between two reads of due deliveries while requests are open. */
const lookMs = 100;
/**
 * Milliseconds between two reads that only create the deliveries of new events, because no further
 * request may begin.
 */
const fullLookMs = 1_000;

/**
 * Creates the activity of event subscriptions.
 * @param places maximum number of parallel requests of this process, which all subscriptions share
 */
export function createSubscriptionActivities(services: SubscriptionServices, places: number) {
  const share = createShare(places);
  const paces = createPaces(services.db);
  return {
    /** Reads new events for a subscription and sends due deliveries, for one time slice. */
    SEND_EVENTS: (id: string) =>
      timeBoxed(async (shouldContinue, stop) => {
        const others = Date.now() + crowdedSliceMs;
        const mayStay = () => shouldContinue() && (!share.isFull() || Date.now() < others);
        share.enter();
        try {
          const pace = paces.of(share.sharing, stop);
          return await sendEvents(services, id, {
            shouldContinue: mayStay,
            stop,
            places: share.places,
            pace,
          });
        } finally {
          share.leave();
        }
      }, sliceMs),
  };
}

/** Divides the parallel requests between the subscriptions at work. Each gets at least one. */
function createShare(places: number) {
  let sharing = 0;
  return {
    enter: () => void (sharing += 1),
    leave: () => void (sharing -= 1),
    sharing: () => sharing,
    /** True if the subscriptions at work may occupy all worker slots, so that others wait. */
    isFull: () => sharing >= places,
    places: () => Math.max(1, Math.min(requestsMax, Math.floor(places / Math.max(1, sharing)))),
  };
}

interface Slice {
  shouldContinue: () => boolean;
  stop: AbortSignal;
  /** Returns how many parallel requests the subscription may have. */
  places: () => number;
  pace: Pace;
}

interface UnderWay {
  unit: Unit;
  isProbe: boolean;
  end: Promise<void>;
}

type Sending = Set<UnderWay>;

async function sendEvents(
  services: SubscriptionServices,
  id: string,
  slice: Slice,
): Promise<SubscriptionRest> {
  const { db } = services;
  const { pace } = slice;
  const lease = await takeLease(db, id);
  if (!lease) {
    while (!(await deleteDeliveries(db, id))) {
      if (!slice.shouldContinue()) return { state: 'disabled', nextDueMs: 0, requests: 0 };
    }
    return { state: null, nextDueMs: null, requests: 0 };
  }
  const sending: Sending = new Set();
  let requests = 0;
  let target: Target | null = null;
  try {
    for (;;) {
      // Pause before the subscription is read, so that its latest state is used.
      await pace.rest(target?.lagMs ?? 0);
      if (!slice.shouldContinue())
        return { state: target?.state ?? 'enabled', nextDueMs: 0, requests };
      const isBehind = await catchUp(db, id, slice);
      const found = await findTarget(db, id, lease.id);
      target = found;
      // Another activity has taken over the subscription, and will find out if the subscription was
      // deleted.
      if (!found) return { state: 'disabled', nextDueMs: 0, requests };
      const places = slice.places() - sending.size;
      const free = pace.share(places);
      const { units, ready } = await pace.work(() => readNext(db, found, sending, free));
      for (const { unit, request } of ready) {
        requests += 1;
        const entry = underWay({ ...services, pace }, found, { unit, request });
        sending.add(entry);
        entry.end.finally(() => sending.delete(entry)).catch(() => {});
      }
      // Read again at once, because deliveries of one contact may have hidden other deliveries, or
      // the pace has let fewer requests begin than there were places.
      if (units > 0 && (units < free || free < places)) continue;
      if (sending.size === 0 && isBehind) continue;
      if (sending.size === 0) {
        const rest = await restOf(db, found);
        await endLease(db, found, lease, rest.nextDueMs);
        return { ...rest, requests };
      }
      const waitMs = sending.size < slice.places() ? lookMs : fullLookMs;
      await untilFirst(
        [...sending].map(({ end }) => end),
        waitMs,
        slice.stop,
      );
    }
  } finally {
    await Promise.all([...sending].map(({ end }) => end));
  }
}

/**
 * Creates the deliveries of new events, and finishes a change of the subscription. Events from
 * before the subscription (the backlog) are read one page per call, so that sending goes on
 * meanwhile. Returns true while the backlog has more pages.
 */
async function catchUp(
  db: Database,
  id: string,
  { shouldContinue, pace }: Slice,
): Promise<boolean> {
  const work = await findWork(db, id);
  const inPages = async (page: (db: Database, id: string) => Promise<boolean>) => {
    while (shouldContinue() && !(await pace.work(() => page(db, id)))) await pace.rest(0);
  };
  if (work.isReleased) await inPages(releasePage);
  // New events come after the backlog.
  if (work.hasBacklog && !(await pace.work(() => readBacklogPage(db, id)))) return true;
  while (work.hasUnread && shouldContinue()) {
    const { isOver, lagMs } = await pace.work(() => readPage(db, id));
    if (isOver) break;
    await pace.rest(lagMs);
  }
  if (work.hasOutdated) await inPages(skipOutdated);
  return false;
}

/** Returns true if only probes, and deliveries whose attempt a user requested, are sent now. */
const isHeld = ({ state, holdMs, probeMs }: Target) =>
  state === 'paused' || holdMs > 0 || probeMs !== null;

/**
 * Returns the next deliveries to send: the due ones, or a single probe if the receiver seems down.
 */
async function chooseNext(
  db: Database,
  target: Target,
  sending: Sending,
  places: number,
): Promise<{ units: Unit[]; isProbe: boolean }> {
  const none = { units: [], isProbe: false };
  const { state, holdMs, probeMs, batchMax } = target;
  if (state === 'disabled' || state === 'project_disabled' || places <= 0) return none;
  const underWay = [...sending].map(({ unit }) => unit);
  const max = batchMax ?? 1;
  const look = { underWay, isHeld: isHeld(target) };
  const due =
    batchMax === null
      ? await listDue(db, target, look)
      : await listDueForBatches(db, target, { ...look, most: places * max });
  const units = chooseDue(due, underWay, { places, max });
  if (units.length > 0) return { units, isProbe: false };
  const isProbing = [...sending].some(({ isProbe }) => isProbe);
  if (state !== 'enabled' || holdMs > 0 || probeMs !== 0 || isProbing) return none;
  const probe = await findProbe(db, target, underWay);
  return probe === null ? none : { units: [probe], isProbe: true };
}

/** Returns the next requests with their content. */
async function readNext(
  db: Database,
  target: Target,
  sending: Sending,
  places: number,
): Promise<{ units: number; ready: { unit: Unit; request: EventRequest }[] }> {
  const { units, isProbe } = await chooseNext(db, target, sending, places);
  const ready = [];
  for (const unit of units) {
    const read = await readUnit(db, target, unit);
    if (read.deliveries.length === 0) continue;
    ready.push({ unit, request: { ...read, batchId: unit.batchId, isProbe } });
  }
  return { units: units.length, ready };
}

/** Reads the content of a request. Deliveries whose event was deleted are skipped. */
async function readUnit(
  db: Database,
  target: Target,
  unit: Unit,
): Promise<Pick<EventRequest, 'deliveries' | 'items'>> {
  const bytesMax = limits.subscriptionBatchBytes;
  const read = await readDeliveries(db, target, unit, bytesMax);
  for (const { event, eventId } of read) {
    if (event === null) await skipGone(db, target.id, eventId);
  }
  const ready = read.filter((one: Ready): one is ReadyEvent => one.event !== null);
  if (target.batchMax === null) return { deliveries: ready, items: null };
  const items = batchItems(target, ready);
  // A retried batch keeps all its events.
  const fit = unit.batchId === null ? batchFit(items, bytesMax) : items.length;
  return { deliveries: ready.slice(0, fit), items: items.slice(0, fit) };
}

function underWay(
  services: RequestServices & { pace: Pace },
  target: Target,
  { unit, request }: { unit: Unit; request: EventRequest },
): UnderWay {
  const ids = new Set(request.deliveries.map(({ eventId }) => eventId));
  const deliveries = unit.deliveries.filter(({ eventId }) => ids.has(eventId));
  const end = sendDeliveries(services, target, request);
  return { unit: { ...unit, deliveries }, isProbe: request.isProbe, end };
}

/**
 * Returns when the run must continue. A subscription that is not enabled needs a signal. Others
 * continue when a probe or a delivery is due, but not during a pause that the receiver asked for.
 */
async function restOf(db: Database, target: Target): Promise<Omit<SubscriptionRest, 'requests'>> {
  const { state, holdMs, probeMs } = target;
  if (state !== 'enabled') return { state, nextDueMs: null };
  const dueMs = await findNextDue(db, target);
  if (dueMs === null) return { state, nextDueMs: null };
  return { state, nextDueMs: Math.max(probeMs ?? dueMs, holdMs, lookMs) };
}

/** Waits until the first of `ends` settles, for at most `ms` milliseconds. */
async function untilFirst(ends: Promise<void>[], ms: number, stop: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([stop, over.signal]);
  try {
    await Promise.race([...ends, pause(ms, signal)]);
  } finally {
    over.abort();
  }
}
