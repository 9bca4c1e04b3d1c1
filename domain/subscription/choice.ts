/** Which due deliveries of a subscription are sent now. */

/** A due delivery: of its contact the one that was recorded first. */
export interface Candidate {
  eventId: string;
  contactId: string | null;
  /** It has failed before, or somebody has asked for it again. */
  isRetry: boolean;
}

/** Requests of one subscription under way at once. */
export const requestsMax = 10;
/** Retries among them while new deliveries wait. */
const retriesMax = 5;

/**
 * Chooses among due deliveries, the longest due first. Of a contact there is one request under way
 * at most. Retries have up to five places while new ones wait, and what new ones leave.
 * @param places how many requests may be started
 */
export function chooseDue(
  candidates: readonly Candidate[],
  underWay: readonly Candidate[],
  places: number,
): Candidate[] {
  const busy = new Set(underWay.flatMap(({ contactId }) => contactId ?? []));
  const free = candidates.filter(({ contactId, eventId }) => {
    if (underWay.some((one) => one.eventId === eventId)) return false;
    if (contactId === null) return true;
    if (busy.has(contactId)) return false;
    busy.add(contactId);
    return true;
  });
  const retries = free.filter(({ isRetry }) => isRetry);
  const fresh = free.filter(({ isRetry }) => !isRetry);
  const retrying = underWay.filter(({ isRetry }) => isRetry).length;
  const reserved = retries.slice(0, Math.max(0, Math.min(retriesMax - retrying, places)));
  const chosen = [...reserved, ...fresh.slice(0, places - reserved.length)];
  const isFreshWaiting = fresh.length > places - reserved.length;
  const rest = isFreshWaiting ? [] : retries.slice(reserved.length);
  return [...chosen, ...rest].slice(0, Math.max(0, places));
}
