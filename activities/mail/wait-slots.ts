import { pause } from '../running/time-box.ts';

/** Places in which activities may wait without giving their slot of the worker back. */
export interface WaitSlots {
  /**
   * Waits `ms` milliseconds, or until `stop` is aborted. False, at once: there is no place, and the
   * caller must give its slot back.
   */
  wait(owner: string, ms: number, stop: AbortSignal): Promise<boolean>;
}

/**
 * `max` places. One owner gets a second one only while half of them are free, so that many
 * throttled owners get one each before one of them gets several.
 */
export function createWaitSlots(max: number): WaitSlots {
  const taken: string[] = [];
  return {
    async wait(owner, ms, stop) {
      const isFirst = !taken.includes(owner);
      if (taken.length >= (isFirst ? max : max / 2)) return false;
      taken.push(owner);
      await pause(ms, stop);
      taken.splice(taken.indexOf(owner), 1);
      return true;
    },
  };
}
