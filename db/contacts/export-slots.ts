import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../domain/errors.ts';

/** Maximum number of concurrent exports of one project. */
const projectMax = 2;
/** All exports together may use one of every `poolPart` connections of the pool. */
const poolPart = 4;
/** Maximum milliseconds for which an export waits for a slot. */
const waitMs = 10_000;
/** Milliseconds between two checks of a waiting export for a free slot. */
const pollMs = 50;
/**
 * Milliseconds that an export may spend in all waiting for its client to read. After that, the
 * export may be ended to start another one.
 */
const readingMs = 30_000;

/**
 * The slot of one export, which holds a connection of the pool until the client has read
 * everything.
 */
export interface ExportSlot {
  projectId: string;
  giveWay: () => void;
  /** Milliseconds that the export has waited for its client to read, without the current wait. */
  waitedMs: number;
  /** When the current wait for the client began; null: the export is reading from the database. */
  waitsSince: number | null;
}

/**
 * Limits the number of running exports, because each holds a connection for as long as its client
 * reads.
 */
export class ExportSlots {
  readonly #max: number;
  readonly #slots = new Set<ExportSlot>();
  /** The projects of waiting exports, first come first. */
  readonly #queue = new Set<{ projectId: string }>();

  constructor(poolMax: number) {
    this.#max = Math.max(1, Math.floor(poolMax / poolPart));
  }

  /**
   * Waits until an export may begin.
   * @param giveWay called when the export must end so that another can start
   * @throws Problem SERVICE_UNAVAILABLE when the wait takes too long
   */
  async enter(projectId: string, giveWay: () => void): Promise<ExportSlot> {
    const waiting = { projectId };
    this.#queue.add(waiting);
    try {
      for (const end = performance.now() + waitMs; !this.#isNext(waiting); await sleep(pollMs)) {
        if (performance.now() > end) throw tooMany();
        if (this.#slots.size >= this.#max && this.#hasRoom(projectId)) this.#longest()?.giveWay();
      }
      const slot: ExportSlot = { projectId, giveWay, waitedMs: 0, waitsSince: null };
      this.#slots.add(slot);
      return slot;
    } finally {
      this.#queue.delete(waiting);
    }
  }

  leave(slot: ExportSlot): void {
    this.#slots.delete(slot);
  }

  #hasRoom(projectId: string): boolean {
    return [...this.#slots].filter((slot) => slot.projectId === projectId).length < projectMax;
  }

  #isNext(waiting: { projectId: string }): boolean {
    if (this.#slots.size >= this.#max) return false;
    return [...this.#queue].find(({ projectId }) => this.#hasRoom(projectId)) === waiting;
  }

  /** Returns the export that has waited longest for its client, if this is at least `readingMs`. */
  #longest(): ExportSlot | undefined {
    const waited = ({ waitedMs, waitsSince }: ExportSlot) =>
      waitedMs + (waitsSince === null ? 0 : performance.now() - waitsSince);
    const [longest] = [...this.#slots].toSorted((a, b) => waited(b) - waited(a));
    return longest && waited(longest) >= readingMs ? longest : undefined;
  }
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: `Too many exports are in progress. A project can have ${projectMax} at a time, and fewer while the server is busy.`,
    suggestion: 'Repeat this one in a minute.',
  });
}
