import { type Database, limitLockWaits, transact } from '../../db/database.ts';
import {
  concernsReputation,
  type JudgeReputation,
  recordFeedback,
  type SettledMessage,
} from '../../db/transactions/mail/record-feedback.ts';
import {
  answerLostReports,
  type FeedbackAnswer,
  type FeedbackReport,
  findReportedMessages,
  type FoundReport,
} from '../../db/transactions/mail/reports.ts';
import type { Shares } from '../../db/shares.ts';
import type { Feedback } from '../../domain/mail/feedback.ts';
import { Problem } from '../../domain/errors.ts';
import { batchMax, GroupCommit, isLost, settle, type Waiting } from './group-commit.ts';

/** Maximum number of reports whose messages one statement looks up. */
const lookupMax = 500;
/**
 * Maximum number of waiting reports of all projects. The request of each takes about ten kilobytes
 * of memory.
 */
const waitingMax = 10_000;
/** Milliseconds for which a transaction with reports of several projects waits for a lock. */
const sharedLockMs = 200;

type WaitingReport = Waiting<FoundReport, FeedbackAnswer>;

/**
 * Records the feedback of many requests together, and responds to each request after the commit.
 * The provider repeats a report without a response, for example when the process dies.
 * One transaction runs at a time, with up to `batchMax` reports: an equal number from each project
 * that has waiting reports. Reports whose contact or message is locked are skipped, and then
 * recorded alone. For any other lock, the transaction waits at most `sharedLockMs`.
 * If a transaction fails, but not because of a lost connection, its projects are recorded
 * separately, on connections of the project's share. This ends when no report of the project waits.
 * A project with a report that may disable it is recorded separately from the start. So neither
 * another project nor a bad report delays the rest.
 */
export class FeedbackQueue {
  readonly #services: FeedbackServices;
  /**
   * Reports whose message is not looked up yet. `#maxDelayMs` is the shortest wait that one of
   * these reports allows.
   */
  #arrived: Waiting<FeedbackReport, FeedbackAnswer>[] = [];
  #maxDelayMs = Infinity;
  #isLookingUp = false;
  /** Time of the last lookup, on the clock of `performance`. */
  #lookedUpAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  /**
   * Reports that are recorded together with reports of other projects. The project that was served
   * last is at the end.
   */
  readonly #byProject = new Map<string, WaitingReport[]>();
  /** Records projects separately. */
  readonly #apart: GroupCommit<FoundReport, FeedbackAnswer>;
  #isRecording = false;
  #size = 0;

  constructor(services: FeedbackServices) {
    const { shares, judge, isUnreported } = services;
    const options = { judge, isUnreported };
    this.#services = services;
    this.#apart = new GroupCommit(shares, {
      writeTogether: (tx, _, reports) =>
        recordFeedback(tx, reports, { ...options, skipsLocked: true }),
      async writeAlone(tx, _, report) {
        const [answer] = await recordFeedback(tx, [report], options);
        return answer ?? 'unknown';
      },
    });
  }

  /**
   * Records a report. Resolves after the commit.
   * @param maxDelayMs milliseconds that the report may wait for other reports, counted from the
   * last lookup. The first report after a pause does not wait.
   * @throws Problem SERVICE_UNAVAILABLE when too many reports are waiting
   */
  async record(report: FeedbackReport, maxDelayMs: number): Promise<FeedbackAnswer> {
    if (this.#size >= waitingMax) throw tooMany();
    this.#size += 1;
    try {
      const answer = await new Promise<FeedbackAnswer>((resolve, reject) => {
        this.#arrived.push({ item: report, resolve, reject });
        this.#maxDelayMs = Math.min(this.#maxDelayMs, maxDelayMs);
        this.#schedule();
      });
      if (report.feedback.some(isSettledLater)) this.#services.onRequests?.();
      return answer;
    } finally {
      this.#size -= 1;
    }
  }

  #schedule(): void {
    if (this.#isLookingUp || this.#arrived.length === 0) return;
    clearTimeout(this.#timer);
    const isFull = this.#arrived.length >= batchMax;
    const waitMs = isFull ? 0 : this.#lookedUpAt + this.#maxDelayMs - performance.now();
    if (waitMs <= 0) void this.#lookUp();
    else this.#timer = setTimeout(() => void this.#lookUp(), waitMs);
  }

  async #lookUp(): Promise<void> {
    this.#isLookingUp = true;
    this.#lookedUpAt = performance.now();
    const some = this.#arrived.splice(0, lookupMax);
    if (this.#arrived.length === 0) this.#maxDelayMs = Infinity;
    try {
      const { db } = this.#services;
      const found = await findReportedMessages(
        db,
        some.map(({ item }) => item),
      );
      const lost = some.filter((_, index) => !found[index]);
      const answers = await answerLostReports(
        db,
        lost.map(({ item }) => item),
      );
      for (const [index, { resolve, reject }] of some.entries()) {
        const item = found[index];
        if (item) this.#queue({ item, resolve, reject });
      }
      for (const [index, { resolve }] of lost.entries()) resolve(answers[index] ?? 'unknown');
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
    this.#isLookingUp = false;
    this.#schedule();
  }

  #queue(added: WaitingReport): void {
    const { projectId } = added.item;
    const queue = this.#byProject.get(projectId) ?? [];
    const apart = this.#apart.waiting(projectId);
    const before = queue.length + (apart ?? 0);
    // A project has at most as many waiting reports as there are free places. So one project never
    // takes all places.
    if (before > 0 && before >= waitingMax - this.#size) return added.reject(tooMany());
    queue.push(added);
    this.#byProject.set(projectId, queue);
    const isJudged = this.#services.judge !== null && concernsReputation(added.item);
    if (apart !== undefined || isJudged) this.#setApart(projectId);
    if (this.#isRecording) return;
    this.#isRecording = true;
    // Deferred, so that reports that were looked up together are recorded in one transaction.
    queueMicrotask(() => void this.#drain());
  }

  async #drain(): Promise<void> {
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      await this.#recordOfMany(batch);
    }
    this.#isRecording = false;
  }

  /** Takes an equal number of reports from each project. */
  #nextBatch(): WaitingReport[] {
    const queues = [...this.#byProject].slice(0, batchMax);
    const each = Math.floor(batchMax / queues.length);
    return queues.flatMap(([projectId, queue]) => {
      const some = queue.splice(0, each);
      this.#byProject.delete(projectId);
      if (queue.length > 0) this.#byProject.set(projectId, queue);
      return some;
    });
  }

  async #recordOfMany(batch: readonly WaitingReport[]): Promise<void> {
    const { db, judge, isUnreported } = this.#services;
    try {
      const answers = await transact(db, async (tx) => {
        await limitLockWaits(tx, sharedLockMs);
        const reports = batch.map(({ item }) => item);
        return recordFeedback(tx, reports, { judge, isUnreported, skipsLocked: true });
      });
      settle(batch, answers, (report) => this.#apart.writeAlone(report.projectId, report));
    } catch (error) {
      if (isLost(error)) return batch.forEach(({ reject }) => reject(error));
      this.#recordApart(batch);
      for (const { item } of batch) this.#setApart(item.projectId);
    }
  }

  /** Records the waiting reports of a project separately from reports of other projects. */
  #setApart(projectId: string): void {
    this.#recordApart(this.#byProject.get(projectId) ?? []);
    this.#byProject.delete(projectId);
  }

  #recordApart(reports: readonly WaitingReport[]): void {
    for (const { item, resolve } of reports) resolve(this.#apart.write(item.projectId, item));
  }
}

interface FeedbackServices {
  db: Database;
  shares: Shares;
  /** Disables a project with a bad reputation; null: projects are not disabled. */
  judge: JudgeReputation | null;
  /** Returns true if the provider of a message will not report its delivery. */
  isUnreported: (message: SettledMessage) => boolean;
  /**
   * Called after recording feedback that may show if a person or a machine caused an open or click.
   */
  onRequests?: () => void;
}

/** Returns true for feedback that may show if a person or a machine caused an open or click. */
function isSettledLater({ kind }: Feedback): boolean {
  return kind === 'open' || kind === 'click' || kind === 'head' || kind === 'delivery';
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: 'Too many delivery reports are waiting to be recorded.',
  });
}
