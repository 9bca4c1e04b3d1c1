import { type Database, limitLockWaits, transact } from '../../db/database.ts';
import { concernsReputation, recordFeedback } from '../../db/outcomes/feedback.ts';
import {
  type FeedbackReport,
  findReportedMessages,
  type FoundReport,
} from '../../db/outcomes/reports.ts';
import type { Shares } from '../../db/shares.ts';
import { isTimeLimit, isUnavailable } from '../../db/sql-state.ts';
import { Problem } from '../../domain/errors.ts';

/** Reports of one transaction: PostgreSQL's work for one hardly falls beyond that. */
const batchMax = 50;
/** Reports whose messages are looked up by one statement. */
const lookupMax = 500;
/** Reports under way at once, in all; each holds a request of some ten kilobytes. */
const waitingMax = 10_000;
/** How long a transaction of several projects waits for a lock, in milliseconds. */
const sharedLockMs = 200;

/** A report and whoever waits for it. */
interface Waiting<Report> {
  report: Report;
  resolve(isKnown: boolean): void;
  reject(error: unknown): void;
}

/** The reports of a project that are found and wait to be recorded. */
interface ProjectQueue {
  waiting: Waiting<FoundReport>[];
  /** Whether they are recorded apart from other projects' until none is left. */
  isApart: boolean;
}

/**
 * Records feedback of many requests together, and answers each after the commit: what is
 * acknowledged is in the database, and what a process had not yet recorded when it died is reported
 * again. A report that comes alone is recorded at once; those that come while others are being
 * recorded are recorded together, up to 50 in a transaction.
 *
 * The transactions are of any projects, one at a time, with an equal part for each project that has
 * something waiting. They do not wait for contacts and messages that somebody has locked, and hardly
 * for anything else: when one fails, its projects are recorded apart from each other, each on a
 * connection of its share, and so is a project that may have to be disabled. Reports on what is
 * locked, and those of a project's own transaction that failed, are recorded each alone. So neither
 * another project's rows nor one bad report delay the rest.
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
  /** Those that were served last come last. */
  readonly #byProject = new Map<string, ProjectQueue>();
  #isRecording = false;
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

  #queue(added: Waiting<FoundReport>): void {
    const { waiting } = this.#queueOf(added);
    // As with connections: a project takes at most as much as stays free.
    if (waiting.length > 0 && waiting.length >= waitingMax - this.#size) added.reject(tooMany());
    else if (this.#services.autoDisable && concernsReputation(added.report)) this.#setApart(added);
    else waiting.push(added);
    if (this.#isRecording) return;
    this.#isRecording = true;
    // Those that were looked up together come along.
    queueMicrotask(() => void this.#drain());
  }

  #queueOf({ report: { projectId } }: Waiting<FoundReport>): ProjectQueue {
    const queue = this.#byProject.get(projectId) ?? { waiting: [], isApart: false };
    this.#byProject.set(projectId, queue);
    return queue;
  }

  async #drain(): Promise<void> {
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      await this.#recordOfMany(batch);
    }
    this.#isRecording = false;
  }

  /** An equal part of each project's. */
  #nextBatch(): Waiting<FoundReport>[] {
    const queues = [...this.#byProject].filter(([, { isApart }]) => !isApart).slice(0, batchMax);
    const each = Math.floor(batchMax / queues.length);
    return queues.flatMap(([projectId, queue]) => {
      const some = queue.waiting.splice(0, each);
      this.#byProject.delete(projectId);
      if (queue.waiting.length > 0) this.#byProject.set(projectId, queue);
      return some;
    });
  }

  async #recordOfMany(batch: readonly Waiting<FoundReport>[]): Promise<void> {
    const { db } = this.#services;
    try {
      await this.#recordTogether(batch, (work) =>
        transact(db, async (tx) => {
          await limitLockWaits(tx, sharedLockMs);
          return work(tx);
        }),
      );
    } catch (error) {
      for (const waiting of batch) {
        if (isHopeless(error)) waiting.reject(error);
        else this.#setApart(waiting);
      }
    }
  }

  /** Records a report, and all others of its project until none is left, apart from other projects. */
  #setApart(added: Waiting<FoundReport>): void {
    const queue = this.#queueOf(added);
    queue.waiting.push(added);
    if (queue.isApart) return;
    queue.isApart = true;
    queueMicrotask(() => void this.#drainApart(added.report.projectId, queue));
  }

  async #drainApart(projectId: string, { waiting }: ProjectQueue): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchMax);
      try {
        await this.#recordTogether(batch, (work) => this.#inShare(projectId, work));
      } catch (error) {
        for (const one of batch) {
          if (batch.length === 1 || isHopeless(error)) one.reject(error);
          else void this.#recordAlone(one);
        }
      }
    }
    this.#byProject.delete(projectId);
  }

  async #recordTogether(
    batch: readonly Waiting<FoundReport>[],
    inTransaction: InTransaction,
  ): Promise<void> {
    const reports = batch.map(({ report }) => report);
    const options = { autoDisable: this.#services.autoDisable, skipsLocked: true };
    const locked = new Set(await inTransaction((tx) => recordFeedback(tx, reports, options)));
    for (const waiting of batch) {
      if (locked.has(waiting.report)) void this.#recordAlone(waiting);
      else waiting.resolve(true);
    }
  }

  async #recordAlone({ report, resolve, reject }: Waiting<FoundReport>): Promise<void> {
    const { autoDisable } = this.#services;
    const recorded = this.#inShare(report.projectId, (tx) =>
      recordFeedback(tx, [report], { autoDisable }),
    );
    await recorded.then(() => resolve(true), reject);
  }

  #inShare<T>(projectId: string, work: (tx: Database) => Promise<T>): Promise<T> {
    return this.#services.shares.within(projectId, (db) => transact(db, work));
  }
}

type InTransaction = (work: (tx: Database) => Promise<FoundReport[]>) => Promise<FoundReport[]>;

/** After a lost connection nobody knows whether the transaction was committed. */
function isHopeless(error: unknown): boolean {
  return isUnavailable(error) && !isTimeLimit(error);
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
