import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import {
  type CompiledTemplate,
  type RenderKind,
  type Renderer,
  type TemplateCheck,
  type TemplateVariables,
  checkTemplate,
  compileTemplate,
  isCheapRendering,
  isQuicklyRead,
  renderPlainly,
  renderTemplate,
} from '../../domain/template/render.ts';
import { FairQueue } from './fair-queue.ts';

/** A task of a thread. */
export type RenderTask =
  | { kind: RenderKind; sources: string[]; variables: TemplateVariables }
  | { kind: 'check'; source: string };

export interface TemplateRenderer extends Renderer {
  /** Checks a template before it is saved; one that takes too long to parse is refused. */
  check(source: string, owner?: string): Promise<TemplateCheck>;
  /** Ends the threads and aborts their tasks. */
  close(): Promise<void>;
}

export interface RendererSettings {
  /** Threads for costly templates. Default: all cores but one, at most 4. */
  threads?: number;
  /** A rendering is stopped after this time, in milliseconds. */
  renderMs?: number;
}

/** Liquid's own limit is one second; what ignores it is stopped a little later. */
const renderMsDefault = 1_200;
/** Two megabytes of tags take seconds to parse. */
const checkMs = 20_000;
/** A template stopped this often in a row is not tried again for a while. */
const stopsMax = 3;
const restMs = 60_000;
const stoppedMax = 1_000;

/**
 * Renders cheap templates at once, and all others in threads, where they can be stopped: Liquid
 * checks the time between tags only, and one filter may take minutes. Projects take turns at the
 * threads, so that one with many costly templates delays the others by one rendering at most.
 */
export function createRenderer(settings: RendererSettings = {}): TemplateRenderer {
  const { renderMs = renderMsDefault } = settings;
  const threads = settings.threads ?? Math.min(4, Math.max(1, availableParallelism() - 1));
  const renderings = new ThreadPool(threads, renderMegabytes);
  // Separate from the renderings: parsing a large template may take long and is not an error.
  const checks = new ThreadPool(1, checkMegabytes);
  const stopped = new Map<string, { times: number; at: number }>();

  const isAtRest = (source: string): boolean => {
    const stops = stopped.get(source);
    return stops !== undefined && stops.times >= stopsMax && Date.now() - stops.at < restMs;
  };
  const noteStop = (source: string): void => {
    const times = (stopped.get(source)?.times ?? 0) + 1;
    stopped.delete(source);
    stopped.set(source, { times, at: Date.now() });
    const [oldest] = stopped.keys();
    if (stopped.size > stoppedMax && oldest !== undefined) stopped.delete(oldest);
  };

  async function renderAll(
    kind: RenderKind,
    templates: readonly CompiledTemplate[],
    variables: TemplateVariables,
  ): Promise<string[]> {
    if (isCheapRendering(templates, variables)) {
      return templates.map((template) => renderTemplate(kind, template, variables));
    }
    const sources = templates.map(({ source }) => source);
    const owner = variables.owner ?? '';
    const name = [owner, ...sources].join('\0');
    const task = { kind, sources, variables };
    const texts = await renderings.run(owner, task, renderMs, () => isAtRest(name));
    if (texts === wasStopped) noteStop(name);
    if (!Array.isArray(texts)) {
      return templates.map((template) => renderPlainly(kind, template, variables));
    }
    stopped.delete(name);
    return texts as string[];
  }

  return {
    async render(kind, template, variables) {
      const [text = ''] = await renderAll(kind, [template], variables);
      return text;
    },
    renderTexts: (sources, variables) => renderAll('text', sources.map(compileTemplate), variables),
    async check(source, owner = '') {
      if (isQuicklyRead(source)) return checkTemplate(source);
      const found = await checks.run(owner, { kind: 'check', source }, checkMs);
      if (typeof found === 'object') return found as TemplateCheck;
      return { ok: false, message: 'The template takes too long to be read.' };
    },
    async close() {
      await Promise.all([renderings.close(), checks.close()]);
    },
  };
}

/** The results of a task that was stopped, and of one that was never started. */
const wasStopped = Symbol('stopped');
const skipped = Symbol('skipped');

interface Job {
  task: RenderTask;
  limitMs: number;
  /** Checked when its turn comes. */
  isPointless: () => boolean;
  done: (answer: unknown) => void;
  failed: (error: Error) => void;
}

/**
 * Memory of a thread, in megabytes; one that needs more ends. Ten megabytes of text need a multiple
 * as intermediate values, and two megabytes of tags are hundreds when parsed.
 */
const renderMegabytes = 192;
const checkMegabytes = 768;

/** Threads that are started on demand; each does one task at a time. */
class ThreadPool {
  readonly #max: number;
  readonly #megabytes: number;
  readonly #queue = new FairQueue<Job>();
  readonly #idle: Worker[] = [];
  /** Including stopped threads that have not ended yet: there are never more than `max`. */
  readonly #all = new Set<Worker>();

  constructor(max: number, megabytes: number) {
    this.#max = max;
    this.#megabytes = megabytes;
  }

  /**
   * The thread's result; stopped when it exceeded its time or memory; skipped when it became
   * pointless or cannot be sent to a thread.
   * @throws Error when no thread can be started.
   */
  run(
    owner: string,
    task: RenderTask,
    limitMs: number,
    isPointless = () => false,
  ): Promise<unknown> {
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
    const thread = new Worker(new URL('./render-worker.mjs', import.meta.url), {
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
