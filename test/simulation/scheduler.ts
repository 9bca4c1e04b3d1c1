import { AsyncLocalStorage } from 'node:async_hooks';
import { randomOf } from '../support/random.ts';

/**
 * One simulated process of Everpost (or Temporal, or a client). What it awaits are operations of
 * the simulation; when it is killed, none of its promises ever continues.
 */
export interface Process {
  name: string;
  sim: Scheduler;
  alive: boolean;
  /** True if the seed may kill or stop it. */
  mortal: boolean;
  /** Called when it is killed, before anything else happens. */
  onDeath: (() => void | Promise<void>)[];
  /** Virtual time until which it is stopped; after that it continues. */
  stoppedUntil: number;
  /** Called when it is stopped. */
  onStop: ((ms: number) => void)[];
}

/** The context that asynchronous code runs in: its process, and what else the layers above need. */
export interface Context {
  process: Process;
  run?: unknown;
  activity?: unknown;
}

export const context = new AsyncLocalStorage<Context>();

interface Operation {
  process: Process;
  label: string;
  /** Its effect. A blocked one has begun and waits for another to release a lock. */
  perform(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Timer {
  at: number;
  process: Process;
  fire(): void;
}

interface Blocked extends Operation {
  /** Its effect, under way. */
  result: Promise<{ value: unknown } | { error: unknown }>;
  isBlocked(): Promise<boolean>;
}

/** Thrown by `perform`: the effect has begun, and waits for a lock that another process holds. */
export class BlockedEffect {
  readonly result: Blocked['result'];
  readonly isBlocked: Blocked['isBlocked'];

  constructor(result: Blocked['result'], isBlocked: Blocked['isBlocked']) {
    this.result = result;
    this.isBlocked = isBlocked;
  }
}

const realImmediate = setImmediate;
const realTimeout = setTimeout;

/** Longest time that passes between two operations, in milliseconds. */
const stepMaxMs = 16;
/** Longest time that a process is stopped, in milliseconds: longer than claims and leases. */
const stopMaxMs = 300_000;

/**
 * Runs simulated processes on a virtual clock: all their operations (statements, calls, timers) are
 * performed one at a time, in an order that the seed picks. The seed also kills processes, before
 * or after the effect of an operation.
 */
export class Scheduler {
  readonly random: () => number;
  /** The virtual time, in milliseconds since 1970. */
  now = Date.UTC(2026, 0, 5);
  /** A hash of all operations: equal for equal seeds. */
  trace = 0;
  /** A log of all operations; null: not kept. */
  lines: string[] | null = null;
  operations = 0;
  /** How many more processes the seed may kill. */
  deaths = 0;
  /** One in so many operations of mortal processes kills its process. */
  deathEvery = 60;
  /** How many more times the seed may stop a process: SIGSTOP, a machine without memory. */
  stops = 0;
  /** True if a process has died or was stopped. */
  isDisturbed = false;
  #ready: Operation[] = [];
  #blocked: Blocked[] = [];
  #timers: Timer[] = [];

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)]!;
  }

  process(name: string, mortal = false): Process {
    return { name, sim: this, alive: true, mortal, onDeath: [], stoppedUntil: 0, onStop: [] };
  }

  /** Runs code in a process. Its errors are the caller's to handle. */
  in<T>(process: Process, work: () => Promise<T>, more: Partial<Context> = {}): Promise<T> {
    return context.run({ ...more, process }, work);
  }

  /** One operation of the present process: it is performed in its turn. */
  perform<T>(label: string, effect: () => Promise<T> | T): Promise<T> {
    const process = this.#present();
    return new Promise<T>((resolve, reject) => {
      if (!process.alive) return;
      this.#ready.push({
        process,
        label,
        perform: async () => effect(),
        resolve,
        reject,
      });
    });
  }

  /** A timer of the present process. Returns how to clear it. */
  timer(ms: number, fire: () => void): () => void {
    const process = this.#present();
    const store = context.getStore()!;
    const timer: Timer = {
      at: this.now + Math.max(0, Math.ceil(ms)),
      process,
      fire: () => context.run(store, fire),
    };
    if (process.alive) this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.timer(ms, resolve));
  }

  async kill(process: Process): Promise<void> {
    if (!process.alive) return;
    this.#note(`${process.name} dies`);
    this.isDisturbed = true;
    process.alive = false;
    this.#ready = this.#ready.filter((one) => one.process !== process);
    this.#blocked = this.#blocked.filter((one) => one.process !== process);
    this.#timers = this.#timers.filter((one) => one.process !== process);
    for (const act of process.onDeath.splice(0)) await act();
  }

  /** Runs until `isOver` is true, all work is done, or the virtual time is `until`. */
  async play(isOver: () => boolean, until: number): Promise<void> {
    for (;;) {
      await settle();
      await this.#lookAtBlocked();
      if (isOver() || this.now >= until) return;
      const due = this.#timers.filter((timer) => timeOf(timer) <= this.now);
      const ready = this.#ready.filter(({ process }) => process.stoppedUntil <= this.now);
      const choices = ready.length + due.length;
      if (choices === 0) {
        const next = Math.min(
          ...this.#timers.map(timeOf),
          ...this.#ready.map(({ process }) => process.stoppedUntil),
        );
        if (next === Infinity) {
          if (this.#blocked.length === 0) return;
          throw new Error(`Deadlock: ${this.#blocked.map(({ label }) => label).join(', ')}`);
        }
        this.now = Math.max(this.now, next);
        continue;
      }
      if (this.random() < 0.25) this.now += Math.floor(this.random() * stepMaxMs);
      const choice = Math.floor(this.random() * choices);
      const operation = ready[choice];
      if (operation) await this.#play(operation);
      else this.#fire(due[choice - ready.length]!);
    }
  }

  #present(): Process {
    const store = context.getStore();
    if (!store) throw new Error('Not in a simulated process.');
    return store.process;
  }

  #stop(process: Process): void {
    const ms = Math.floor(stopMaxMs * this.random());
    this.#note(`${process.name} is stopped for ${ms} ms`);
    this.stops -= 1;
    this.isDisturbed = true;
    process.stoppedUntil = this.now + ms;
    for (const act of process.onStop) act(ms);
  }

  #fire(timer: Timer): void {
    this.#timers = this.#timers.filter((one) => one !== timer);
    this.#note(`${timer.process.name} timer`);
    timer.fire();
  }

  async #play(operation: Operation): Promise<void> {
    this.#ready = this.#ready.filter((one) => one !== operation);
    this.operations += 1;
    const { process, label } = operation;
    const dies = process.mortal && this.deaths > 0 && this.random() * this.deathEvery < 1;
    if (dies) this.deaths -= 1;
    const stopEvery = label.startsWith('hands over') ? 4 : this.deathEvery;
    const stops = process.mortal && this.stops > 0 && this.random() * stopEvery < 1;
    // A process dies before the effect, or after it without seeing the result.
    if (dies && this.random() < 0.5) return this.kill(process);
    this.#note(`${process.name} ${label}`);
    try {
      const value = await operation.perform();
      if (dies) return await this.kill(process);
      if (stops) this.#stop(process);
      operation.resolve(value);
    } catch (error) {
      if (error instanceof BlockedEffect) {
        if (dies) return await this.kill(process);
        const { result, isBlocked } = error;
        this.#blocked.push({ ...operation, result, isBlocked });
        return;
      }
      operation.reject(error);
    }
  }

  /** Continues blocked operations whose lock was released. */
  async #lookAtBlocked(): Promise<void> {
    for (const blocked of this.#blocked) {
      for (;;) {
        const outcome = await Promise.race([blocked.result, elapsed()]);
        if (outcome) {
          this.#blocked = this.#blocked.filter((one) => one !== blocked);
          this.#note(`${blocked.process.name} goes on`);
          if ('error' in outcome) blocked.reject(outcome.error);
          else blocked.resolve(outcome.value);
          await settle();
          break;
        }
        if (await blocked.isBlocked()) break;
      }
    }
  }

  #note(line: string): void {
    for (const char of `${this.now} ${line}`) {
      this.trace = (Math.imul(this.trace, 31) + char.charCodeAt(0)) | 0;
    }
    this.lines?.push(`${new Date(this.now).toISOString().slice(11, 23)} ${line}`);
  }
}

const timeOf = ({ at, process }: Timer) => Math.max(at, process.stoppedUntil);

/** Lets all code run that does not wait for the simulation. */
export async function settle(): Promise<void> {
  await new Promise<void>((resolve) => realImmediate(resolve));
}

const elapsed = () => new Promise<null>((resolve) => realTimeout(() => resolve(null), 1));
