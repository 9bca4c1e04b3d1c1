/** Chooses which due deliveries of a subscription are sent now, and which of them together. */

export interface Candidate {
  eventId: string;
  contactId: string | null;
  /** True if it has failed before, or a retry was requested. */
  isRetry: boolean;
  /** The batch in which it has failed and is retried; null: it is in no such batch. */
  batchId: string | null;
  /** True if it has failed and is sent alone. */
  isAlone: boolean;
}

/** The deliveries of one request. */
export interface Unit {
  deliveries: readonly Candidate[];
  isRetry: boolean;
  /** The batch that is retried; null: none. */
  batchId: string | null;
}

/** Maximum number of concurrent requests of one subscription. */
export const requestsMax = 10;
/** Maximum number of retries among these requests while new deliveries wait. */
const retriesMax = 5;

/**
 * Chooses among due deliveries, in the given order. A contact has at most one request under way.
 * Retries get up to five places while new deliveries wait, and all places that new deliveries leave
 * free. A failed batch is sent again unchanged, before other deliveries of its contacts.
 * @param free how many requests may be started, and how many deliveries each may have
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
  // A contact with a failed delivery that is due again gets no new delivery before it.
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

/** Returns the requests for failed deliveries: batches as they were, and single ones. */
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
 * Returns a function that makes a request of up to `max` deliveries at each call. It returns null
 * when no delivery is left whose contact is free.
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
