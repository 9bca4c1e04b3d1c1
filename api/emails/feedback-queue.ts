import { type Database, transact } from '../../db/database.ts';
import {
  type FeedbackReport,
  findReportedMessages,
  type FoundReport,
  recordFeedback,
} from '../../db/emails/feedback.ts';
import type { Shares } from '../../db/shares.ts';
import { isLockTimeout, isUnavailable } from '../../db/sql-state.ts';
import { Problem } from '../../domain/errors.ts';

/** Reports of one transaction: PostgreSQL's work for one hardly falls beyond that. */
const batchMax = 50;
/** Reports whose messages are looked up by one statement. */
const lookupMax = 500;
/** Reports under way at once, in all; each holds a request of some ten kilobytes. */
const waitingMax = 10_000;

/** A report and whoever waits for it. */
interface Waiting<Report> {
  report: Report;
  resolve(isKnown: boolean): void;
  reject(error: unknown): void;
}

/**
 * Records feedback of many requests together, and answers each after the commit: what is
 * acknowledged is in the database, and what a process had not yet recorded when it died is reported
 * again. A report that comes alone is recorded at once; those that come while others are being
 * recorded are recorded together, up to 50 in a transaction.
 *
 * The transactions are of one project each, on a connection of the project's share, one at a time.
 * Reports on a contact that somebody has locked, and those of a transaction that failed, are
 * recorded each alone. So neither another project's rows nor one bad report delay the rest.
 */
export class FeedbackQueue {
  readonly #services: FeedbackServices;
  /** Reports whose message is not looked up yet, and the least patience among them. */
  #arrived: Waiting<FeedbackReport>[] = [];
  #patienceMs = Infinity;
  #isLookingUp = false;
  /** On the clock of `performance`. */
  #lookedUpAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  readonly #byProject = new Map<string, Waiting<FoundReport>[]>();
  #size = 0;

  constructor(services: FeedbackServices) {
    this.#services = services;
  }

  /**
   * Records a report. Resolves after the commit: false when there is no such message.
   * @param patienceMs how long after the last beginning of a batch this one may wait for others.
   *   The first report in a while waits for nobody.
   * @throws Problem SERVICE_UNAVAILABLE when too many are waiting
   */
  async record(report: FeedbackReport, patienceMs: number): Promise<boolean> {
    if (this.#size >= waitingMax) throw tooMany();
    this.#size += 1;
    try {
      return await new Promise<boolean>((resolve, reject) => {
        this.#arrived.push({ report, resolve, reject });
        this.#patienceMs = Math.min(this.#patienceMs, patienceMs);
        this.#schedule();
      });
    } finally {
      this.#size -= 1;
    }
  }

  #schedule(): void {
    if (this.#isLookingUp || this.#arrived.length === 0) return;
    clearTimeout(this.#timer);
    const isFull = this.#arrived.length >= batchMax;
    const waitMs = isFull ? 0 : this.#lookedUpAt + this.#patienceMs - performance.now();
    if (waitMs <= 0) void this.#lookUp();
    else this.#timer = setTimeout(() => void this.#lookUp(), waitMs);
  }

  async #lookUp(): Promise<void> {
    this.#isLookingUp = true;
    this.#lookedUpAt = performance.now();
    const some = this.#arrived.splice(0, lookupMax);
    if (this.#arrived.length === 0) this.#patienceMs = Infinity;
    try {
      const reports = some.map(({ report }) => report);
      const found = await findReportedMessages(this.#services.db, reports);
      for (const [index, { resolve, reject }] of some.entries()) {
        const report = found[index];
        if (report) this.#queue({ report, resolve, reject });
        else resolve(false);
      }
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
    this.#isLookingUp = false;
    this.#schedule();
  }

  #queue(waiting: Waiting<FoundReport>): void {
    const { projectId } = waiting.report;
    const queue = this.#byProject.get(projectId);
    if (!queue) {
      const first = [waiting];
      this.#byProject.set(projectId, first);
      // Those that were looked up together come along.
      queueMicrotask(() => void this.#drain(projectId, first));
    } else if (queue.length >= waitingMax - this.#size) {
      // As with connections: a project takes at most as much as stays free.
      waiting.reject(tooMany());
    } else queue.push(waiting);
  }

  async #drain(projectId: string, queue: Waiting<FoundReport>[]): Promise<void> {
    while (queue.length > 0) await this.#recordTogether(projectId, queue.splice(0, batchMax));
    this.#byProject.delete(projectId);
  }

  async #recordTogether(projectId: string, batch: readonly Waiting<FoundReport>[]): Promise<void> {
    const reports = batch.map(({ report }) => report);
    try {
      const locked = new Set(await this.#record(projectId, reports, true));
      for (const waiting of batch) {
        if (locked.has(waiting.report)) void this.#recordAlone(waiting);
        else waiting.resolve(true);
      }
    } catch (error) {
      const isHopeless = batch.length === 1 || (isUnavailable(error) && !isLockTimeout(error));
      for (const waiting of batch) {
        if (isHopeless) waiting.reject(error);
        else void this.#recordAlone(waiting);
      }
    }
  }

  async #recordAlone({ report, resolve, reject }: Waiting<FoundReport>): Promise<void> {
    await this.#record(report.projectId, [report], false).then(() => resolve(true), reject);
  }

  #record(projectId: string, reports: FoundReport[], skipsLocked: boolean): Promise<FoundReport[]> {
    const { shares, autoDisable } = this.#services;
    const options = { autoDisable, skipsLocked };
    return shares.within(projectId, (db) =>
      transact(db, (tx) => recordFeedback(tx, projectId, reports, options)),
    );
  }
}

interface FeedbackServices {
  db: Database;
  shares: Shares;
  /** Whether a project of bad reputation is disabled. */
  autoDisable: boolean;
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', { message: 'Too many reports wait to be recorded.' });
}
