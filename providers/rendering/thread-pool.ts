import { Worker } from 'node:worker_threads';
import { FairQueue } from './fair-queue.ts';

/** The results of a task that was stopped, and of one that was never started. */
export const wasStopped = Symbol('stopped');
const skipped = Symbol('skipped');

interface Job<Task> {
  task: Task;
  limitMs: number;
  /** Checked when its turn comes. */
  isPointless: () => boolean;
  done: (answer: unknown) => void;
  failed: (error: Error) => void;
}

/** Threads that are started on demand; each does one task at a time. */
export class ThreadPool<Task> {
  readonly #file: URL;
  readonly #max: number;
  readonly #megabytes: number;
  readonly #queue = new FairQueue<Job<Task>>();
  readonly #idle: Worker[] = [];
  /** Including stopped threads that have not ended yet: there are never more than `max`. */
  readonly #all = new Set<Worker>();

  /**
   * @param program what a thread runs: the name of a file beside this one
   * @param megabytes memory of a thread; one that needs more ends
   */
  constructor(program: 'render-worker' | 'draw-worker', max: number, megabytes: number) {
    // A program in TypeScript needs its loader in the thread, too.
    const extension = import.meta.url.endsWith('.ts') ? 'mjs' : 'js';
    this.#file = new URL(`./${program}.${extension}`, import.meta.url);
    this.#max = max;
    this.#megabytes = megabytes;
  }

  /**
   * The thread's result; stopped when it exceeded its time or memory; skipped when it became
   * pointless or cannot be sent to a thread.
   * @throws Error when no thread can be started.
   */
  run(owner: string, task: Task, limitMs: number, isPointless = () => false): Promise<unknown> {
    return new Promise((done, failed) => {
      this.#queue.push(owner, { task, limitMs, isPointless, done, failed });
      this.#next();
    });
  }

  async close(): Promise<void> {
    for (let job = this.#queue.shift(); job; job = this.#queue.shift()) job.done(skipped);
    await Promise.all([...this.#all].map((thread) => thread.terminate()));
  }

  #next(): void {
    while (this.#queue.next?.isPointless()) this.#queue.shift()?.done(skipped);
    if (!this.#queue.next) return;
    const thread = this.#idle.pop();
    if (thread) this.#work(thread);
    else if (this.#all.size < this.#max) this.#start();
  }

  #start(): void {
    const thread = new Worker(this.#file, {
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#megabytes, maxYoungGenerationSizeMb: 32 },
    });
    this.#all.add(thread);
    let isReady = false;
    let failure = new Error('A thread for rendering ended before it began.');
    // An error is always followed by the exit.
    thread.on('error', (error) => (failure = error));
    thread.once('message', () => {
      isReady = true;
      this.#rest(thread);
    });
    thread.once('exit', () => {
      this.#all.delete(thread);
      const at = this.#idle.indexOf(thread);
      if (at !== -1) this.#idle.splice(at, 1);
      if (!isReady) this.#queue.shift()?.failed(failure);
      this.#next();
    });
  }

  #work(thread: Worker): void {
    const job = this.#queue.shift();
    if (!job) return this.#rest(thread);
    const settle = (answer: unknown) => {
      clearTimeout(timer);
      thread.off('message', answered);
      thread.off('exit', ended);
      job.done(answer);
    };
    const answered = (answer: unknown) => {
      settle(answer);
      this.#rest(thread);
    };
    const ended = () => settle(wasStopped);
    const timer = setTimeout(() => {
      settle(wasStopped);
      void thread.terminate();
    }, job.limitMs);
    thread.on('message', answered);
    thread.on('exit', ended);
    thread.ref();
    try {
      thread.postMessage(job.task, []);
    } catch {
      // A value that cannot be cloned, such as one nested too deeply.
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
