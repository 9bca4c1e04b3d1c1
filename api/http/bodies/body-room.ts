import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';

/** Limits the memory for request bodies, from their arrival until their request is answered. */

/** Maximum bytes of all bodies together: four times the largest body. */
const allBytes = 4 * limits.sendBodyBytes;
/** Maximum bytes of all bodies of one owner: the largest body. */
const ownerBytes = allBytes / 4;
/** Maximum milliseconds for which a body waits for memory. */
const waitMs = 10_000;
/** Milliseconds between two checks of a waiting body for free memory. */
const lookMs = 50;
/** Minimum bytes per second of a fast body. A slower body may be rejected when memory is short. */
const briskRate = 1024 * 1024;
/** Milliseconds over which a rate is measured. */
const rateMs = 250;
/** Milliseconds for which a new body counts as fast. */
const beginningMs = 1_000;

/** A body and the memory that it holds. Only `BodyRoom` changes these values. */
export interface Place {
  readonly owner: string;
  /** Maximum number of bytes that will arrive; 0: only bytes that have arrived count. */
  readonly expected: number;
  /** Called when this body is rejected to free memory for another body. */
  readonly giveWay: (problem: Problem) => void;
  held: number;
  /** Time at which the first bytes were counted, on the clock of `performance`; null: none yet. */
  beganAt: number | null;
  state: 'arriving' | 'waiting' | 'complete' | 'left';
  /** Bytes per second at `ratedAt`. For the current rate, which is lower, see `rateOf`. */
  rate: number;
  ratedAt: number;
}

/**
 * Divides the memory for bodies between owners; an owner gets a quarter at most. Only bytes that
 * have arrived count, so a large Content-Length takes no memory from other owners.
 * If the bodies of one owner do not fit together, they are read one after the other. If memory is
 * still short, bodies that arrive slowly are rejected, the slowest first.
 */
export class BodyRoom {
  #held = 0;
  /** The bodies of each owner, in the order of arrival. */
  readonly #places = new Map<string, Set<Place>>();

  enter(given: Pick<Place, 'owner' | 'expected' | 'giveWay'>): Place {
    const now = performance.now();
    const place: Place = {
      ...given,
      held: 0,
      beganAt: null,
      state: 'arriving',
      rate: 0,
      ratedAt: now,
    };
    const places = this.#places.get(place.owner) ?? new Set();
    this.#places.set(place.owner, places.add(place));
    return place;
  }

  /**
   * Counts bytes that have arrived. Returns a promise if there is no memory for them. The caller
   * must not read more until the promise resolves.
   * @throws Problem SERVICE_UNAVAILABLE, in the promise, if there is no memory within `waitMs`
   */
  take(place: Place, bytes: number): Promise<void> | undefined {
    return this.#tryTake(place, bytes) ? undefined : this.#wait(place, bytes);
  }

  /** Records that the whole body has arrived, so it is not rejected any more. */
  complete(place: Place): void {
    place.state = 'complete';
  }

  /** Frees the memory of a body. */
  leave(place: Place): void {
    if (place.state === 'left') return;
    place.state = 'left';
    this.#held -= place.held;
    const places = this.#of(place.owner);
    places.delete(place);
    if (places.size === 0) this.#places.delete(place.owner);
  }

  #of(owner: string): Set<Place> {
    return this.#places.get(owner) ?? new Set();
  }

  #tryTake(place: Place, bytes: number): boolean {
    if (!this.#mayBegin(place) || this.#isOwnerFull(place, bytes)) return false;
    if (this.#held + bytes > allBytes) return false;
    const now = performance.now();
    place.beganAt ??= now;
    place.rate = rateOf(place, now) + (bytes * 1000) / rateMs;
    place.ratedAt = now;
    place.held += bytes;
    this.#held += bytes;
    return true;
  }

  /**
   * Returns true if the owner's earlier bodies leave memory for all of this body. Slow bodies do
   * not count, because they would be rejected.
   */
  #mayBegin(place: Place): boolean {
    if (place.beganAt !== null) return true;
    let others = 0;
    for (const other of this.#of(place.owner)) {
      if (other === place) break;
      // An earlier body of the owner is still waiting.
      if (other.beganAt === null) return false;
      if (other.state === 'complete') others += other.held;
      else if (isBrisk(other)) others += Math.max(other.held, other.expected);
    }
    return others === 0 || others + place.expected <= ownerBytes;
  }

  #isOwnerFull({ owner }: Place, bytes: number): boolean {
    let held = bytes;
    for (const place of this.#of(owner)) held += place.held;
    return held > ownerBytes;
  }

  async #wait(place: Place, bytes: number): Promise<void> {
    place.state = 'waiting';
    for (const end = performance.now() + waitMs; !this.#tryTake(place, bytes);) {
      const slowest = this.#mayBegin(place) ? this.#slowestBeside(place, bytes) : undefined;
      if (slowest) {
        this.leave(slowest);
        slowest.giveWay(tooMany());
        continue;
      }
      if (performance.now() > end) throw tooMany();
      await sleep(lookMs);
      // The body was rejected to free memory, or its client has disconnected.
      if (place.state !== 'waiting') return;
    }
    place.state = 'arriving';
  }

  /**
   * Returns the body to reject so that the given body fits; undefined: other bodies will soon free
   * their memory.
   */
  #slowestBeside(place: Place, bytes: number): Place | undefined {
    const now = performance.now();
    const all = this.#isOwnerFull(place, bytes)
      ? [...this.#of(place.owner)]
      : [...this.#places.values()].flatMap((places) => [...places]);
    const others = all.filter((other) => other !== place && other.held > 0);
    // If all other bodies wait, none of them will end and free its memory.
    const isStuck = others.every(({ state }) => state === 'waiting');
    const slow = others.filter(
      (other) => isStuck || (other.state === 'arriving' && !isBrisk(other)),
    );
    return slow.toSorted((a, b) => rateOf(a, now) - rateOf(b, now))[0];
  }
}

/** Returns the recent rate in bytes per second: an average in which older bytes count less. */
function rateOf({ rate, ratedAt }: Place, now: number): number {
  return rate * Math.exp((ratedAt - now) / rateMs);
}

function isBrisk(place: Place): boolean {
  const now = performance.now();
  const isNew = place.beganAt !== null && now - place.beganAt < beginningMs;
  return isNew || rateOf(place, now) >= briskRate;
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: 'The server is handling too many large requests at the moment.',
    suggestion: 'Wait for the seconds in the header Retry-After, or send less in one request.',
  });
}
