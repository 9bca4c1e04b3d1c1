import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

/** Factor by which a task may exceed its time limit on a busy machine. */
const busyFactor = 10;

/** The result of a task that was stopped, and the result of a task that was not started. */
export const wasStopped = Symbol('stopped');
const skipped = Symbol('skipped');

function closed(): Error {
  return new Error('The process is stopping: its threads are closed.');
}

interface Job<Task> {
  owner: string;
  task: Task;
  limitMs: number;
  /** Called when the task's turn comes; true: the task is skipped. */
  isPointless: () => boolean;
  /** Memory in the task that is transferred to the thread instead of copied. */
  transfer: ArrayBuffer[];
  done: (answer: unknown) => void;
  failed: (error: Error) => void;
}

/**
 * A pool of threads, which are started when needed. Each thread does one task at a time, and owners
 * take turns. If there are several threads, one owner never gets all of them.
 */
export class ThreadPool<Task> {
  readonly #file: URL;
  readonly #max: number;
  readonly #megabytes: number;
  readonly #queue = new FairQueue<Job<Task>>();
  readonly #idle: Worker[] = [];
  /** All threads, including stopped threads that have not ended yet; never more than `max`. */
  readonly #all = new Set<Worker>();
  #isClosed = false;
  /** Number of threads that are working for each owner. */
  readonly #atWork = new Map<string, number>();

  /**
   * Creates a pool without threads.
   * @param caller URL of the calling file
   * @param program the file beside the calling file that threads run
   * @param megabytes memory of a thread. A thread that needs more is ended
   */
  constructor(caller: string, program: `${string}-worker`, max: number, megabytes: number) {
    // A program in TypeScript needs its loader in the thread as well.
    const extension = caller.endsWith('.ts') ? 'mjs' : 'js';
    this.#file = new URL(`./${program}.${extension}`, caller);
    this.#max = max;
    this.#megabytes = megabytes;
  }

  /**
   * Runs a task and returns its result. `wasStopped`: the task needed too much memory or time.
   * `skipped`: `isPointless` was true when its turn came, or the task cannot be sent to a thread.
   * @throws Error when no thread can be started, or the pool is closed
   */
  run(
    owner: string,
    task: Task,
    limitMs: number,
    {
      isPointless = () => false,
      transfer = [],
    }: Partial<Pick<Job<Task>, 'isPointless' | 'transfer'>> = {},
  ): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(closed());
    return new Promise((done, failed) => {
      this.#queue.push(owner, { owner, task, limitMs, isPointless, transfer, done, failed });
      this.#next();
    });
  }

  /** Ends the threads. Waiting tasks fail, and can be repeated after a restart. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let job = this.#queue.shift(); job; job = this.#queue.shift()) job.failed(closed());
    await Promise.all([...this.#all].map((thread) => thread.terminate()));
  }

  /** Gives the next task to an idle thread, or starts a thread for it. */
  #next(): void {
    const canStart = this.#all.size < this.#max;
    if (this.#idle.length === 0 && !canStart) return;
    const job = this.#take();
    if (!job) return;
    const thread = this.#idle.pop();
    if (thread) this.#work(thread, job);
    else this.#start(job);
  }

  /** Returns the next task, and counts it for its owner. */
  #take(): Job<Task> | undefined {
    const most = Math.max(1, this.#max - 1);
    const mayTake = (owner: string) => (this.#atWork.get(owner) ?? 0) < most;
    for (let job = this.#queue.shift(mayTake); job; job = this.#queue.shift(mayTake)) {
      if (!job.isPointless()) {
        this.#atWork.set(job.owner, (this.#atWork.get(job.owner) ?? 0) + 1);
        return job;
      }
      job.done(skipped);
    }
    return undefined;
  }

  #leave({ owner }: Job<Task>): void {
    const left = (this.#atWork.get(owner) ?? 1) - 1;
    if (left === 0) this.#atWork.delete(owner);
    else this.#atWork.set(owner, left);
  }

  #start(job: Job<Task>): void {
    const thread = new Worker(this.#file, {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#megabytes, maxYoungGenerationSizeMb: 32 },
    });
    this.#all.add(thread);
    let isReady = false;
    let failure = new Error('A thread ended before it was ready.');
    // After an error, an exit always follows, which is handled below.
    thread.on('error', (error) => (failure = error));
    thread.once('message', () => {
      isReady = true;
      this.#work(thread, job);
    });
    thread.once('exit', () => {
      this.#all.delete(thread);
      const at = this.#idle.indexOf(thread);
      if (at !== -1) this.#idle.splice(at, 1);
      if (!isReady) {
        this.#leave(job);
        job.failed(failure);
      }
      this.#next();
    });
  }

  #work(thread: Worker, job: Job<Task>): void {
    const settle = (answer: unknown) => {
      clearTimeout(timer);
      this.#leave(job);
      thread.off('message', answered);
      thread.off('exit', ended);
      job.done(answer);
    };
    const answered = (answer: unknown) => {
      settle(answer);
      this.#rest(thread);
    };
    const ended = () => {
      settle(wasStopped);
      // The owner may have another task that had to wait for this task.
      this.#next();
    };
    const began = performance.now();
    const before = process.cpuUsage();
    const stop = () => {
      // On a busy machine, the task may have used little CPU time. So the task continues while the
      // CPU time of the process is below the limit.
      const { user, system } = process.cpuUsage(before);
      const leftMs = job.limitMs - (user + system) / 1000;
      if (leftMs >= 1 && performance.now() - began < busyFactor * job.limitMs) {
        timer = setTimeout(stop, leftMs);
        return;
      }
      settle(wasStopped);
      void thread.terminate();
    };
    let timer = setTimeout(stop, job.limitMs);
    thread.on('message', answered);
    thread.on('exit', ended);
    thread.ref();
    try {
      thread.postMessage(job.task, job.transfer);
    } catch {
      // The task cannot be cloned for the thread, for example because it is nested too deeply.
      answered(skipped);
    }
  }

  #rest(thread: Worker): void {
    // An idle thread must not keep the process alive.
    thread.unref();
    this.#idle.push(thread);
    this.#next();
  }
}
