import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { context, type Scheduler } from './scheduler.ts';

/**
 * Simulated code gets the clock, timers and randomness of the simulation; other code of this
 * process, such as the test runner and the database driver, keeps the real ones.
 */

/** Returns the simulation of the current code, if any. */
const present = (): Scheduler | null => context.getStore()?.process.sim ?? null;

/** Returns a uuid of version 4 from the seed. */
export function seededUuid(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** Returns a uuid of version 7 from the virtual clock. */
export function seededUuidV7(): string {
  const { now, random } = present()!;
  const at = now.toString(16).padStart(12, '0');
  return `${at.slice(0, 8)}-${at.slice(8)}-7${seededUuid(random).slice(15)}`;
}

const real = {
  Date,
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  random: Math.random,
  randomUUID: crypto.randomUUID,
  sleep: timers.setTimeout,
};

/** Replaces the globals. Outside of simulated code they work as before. */
export function installGlobals(): void {
  globalThis.Date = class extends real.Date {
    constructor(...given: unknown[]) {
      if (given.length === 0) super(present()?.now ?? real.Date.now());
      else super(...(given as [number]));
    }

    static override now(): number {
      return present()?.now ?? real.Date.now();
    }
  } as DateConstructor;
  const clears = new WeakMap<object, () => void>();
  globalThis.setTimeout = ((act: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const sim = present();
    if (!sim) return real.setTimeout(act, ms, ...args);
    const handle = { unref: () => handle, ref: () => handle };
    clears.set(
      handle,
      sim.timer(ms, () => act(...args)),
    );
    return handle;
  }) as unknown as typeof setTimeout;
  globalThis.clearTimeout = ((handle: object) => {
    const clear = typeof handle === 'object' && handle ? clears.get(handle) : undefined;
    if (clear) clear();
    else real.clearTimeout(handle as never);
  }) as typeof clearTimeout;
  // Heartbeats: the simulated Temporal knows which processes live.
  globalThis.setInterval = ((act: () => void, ms: number) =>
    present() ? {} : real.setInterval(act, ms)) as unknown as typeof setInterval;
  globalThis.setImmediate = ((act: (...args: unknown[]) => void, ...args: unknown[]) => {
    const sim = present();
    return sim ? sim.timer(0, () => act(...args)) : real.setImmediate(act, ...args);
  }) as unknown as typeof setImmediate;
  Math.random = () => (present()?.random ?? real.random)();
  crypto.randomUUID = ((...args: []) => {
    const sim = present();
    return sim ? seededUuid(sim.random) : real.randomUUID(...args);
  }) as typeof crypto.randomUUID;
  timers.setTimeout = (async (ms: number, value: unknown, ...rest: []) => {
    const sim = present();
    if (!sim) return real.sleep(ms, value, ...rest);
    await sim.sleep(ms);
    return value;
  }) as typeof timers.setTimeout;
  syncBuiltinESMExports();
}
