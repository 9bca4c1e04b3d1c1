/**
 * Chooses which due deliveries of a subscription are sent now, and which of them share a request.
 */

export interface Candidate {
  eventId: string;
  contactId: string | null;
  /** True if the delivery has failed before, or a retry was requested. */
  isRetry: boolean;
  /**
   * The failed batch with this delivery, which is retried as a whole; null: the delivery is in no
   * such batch.
   */
  batchId: string | null;
  /** True if the delivery has failed and is sent alone. */
  isAlone: boolean;
}

/** The deliveries of one request. */
export interface Unit {
  deliveries: readonly Candidate[];
  isRetry: boolean;
  /** The batch that is retried; null: the deliveries are no retried batch. */
  batchId: string | null;
}

/** Maximum number of parallel requests of one subscription. */
export const requestsMax = 10;
/** Maximum number of retries among the parallel requests while new deliveries wait. */
const retriesMax = 5;

/**
 * Chooses among due deliveries, in the given order. A contact has at most one request at a time.
 * Retries get up to five places while new deliveries wait, and otherwise all free places. A failed
 * batch is sent again unchanged, before other deliveries of its contacts.
 * @param free how many requests may start, and how many deliveries each may have
 */
export function chooseDue(
  candidates: readonly Candidate[],
  underWay: readonly Unit[],
  free: { places: number; max: number },
): Unit[] {
  const busy = new Set(underWay.flatMap(contactsOf));
  const events = new Set(
    underWay.flatMap(({ deliveries }) => deliveries.map((one) => one.eventId)),
  );
  const waiting = candidates.filter(({ eventId }) => !events.has(eventId));
  const chosen: Unit[] = [];
  const take = (unit: Unit) => {
    for (const contact of contactsOf(unit)) busy.add(contact);
    chosen.push(unit);
  };
  const retrying = underWay.filter(({ isRetry }) => isRetry).length;
  const reserved = Math.min(free.places, retriesMax - retrying);
  const failed = failedUnits(waiting);
  const again = packing(
    waiting.filter((one) => one.isRetry && !hasFailed(one)),
    free.max,
  );
  const fresh = packing(
    waiting.filter((one) => !one.isRetry),
    free.max,
  );
  const takeFailed = (most: number) => {
    for (const unit of failed) {
      if (chosen.length >= most || chosen.includes(unit)) continue;
      if (!contactsOf(unit).some((contact) => busy.has(contact))) take(unit);
    }
  };
  const takePacked = (next: (busy: ReadonlySet<string>) => Unit | null, most: number) => {
    while (chosen.length < most) {
      const unit = next(busy);
      if (unit === null) return true;
      take(unit);
    }
    return false;
  };
  takeFailed(reserved);
  takePacked(again, reserved);
  // If a contact has a failed delivery that is due again, the contact's new deliveries wait for it.
  const before = failed.filter((unit) => !chosen.includes(unit)).flatMap(contactsOf);
  const isOver = takePacked((under) => fresh(new Set([...under, ...before])), free.places);
  if (!isOver) return chosen;
  takeFailed(free.places);
  takePacked(again, free.places);
  return chosen;
}

export function contactsOf({ deliveries }: Unit): string[] {
  return deliveries.flatMap(({ contactId }) => contactId ?? []);
}

const hasFailed = ({ batchId, isAlone }: Candidate) => batchId !== null || isAlone;

/** Returns the requests for failed deliveries: batches as they were sent, and single deliveries. */
function failedUnits(candidates: readonly Candidate[]): Unit[] {
  const units = new Map<string, Candidate[]>();
  for (const one of candidates.filter(hasFailed)) {
    const key = one.batchId ?? one.eventId;
    const members = units.get(key);
    if (members) members.push(one);
    else units.set(key, [one]);
  }
  return [...units.values()].map((deliveries) => ({
    deliveries,
    isRetry: true,
    batchId: deliveries[0]?.batchId ?? null,
  }));
}

/**
 * Returns a function that makes one request of up to `max` deliveries per call. It returns null
 * when each remaining delivery has a contact with another request.
 */
function packing(candidates: readonly Candidate[], max: number) {
  let left = candidates;
  return (busy: ReadonlySet<string>): Unit | null => {
    const deliveries: Candidate[] = [];
    const rest: Candidate[] = [];
    for (const one of left) {
      const isFree = one.contactId === null || !busy.has(one.contactId);
      if (isFree && deliveries.length < max) deliveries.push(one);
      else rest.push(one);
    }
    left = rest;
    const [first] = deliveries;
    return first ? { deliveries, isRetry: first.isRetry, batchId: null } : null;
  };
}
