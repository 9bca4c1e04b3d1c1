import { pause } from '../running/time-box.ts';

/** Slots in which activities may wait while they keep their worker slot. */
export interface WaitSlots {
  /**
   * Waits `ms` milliseconds, or until `stop` is aborted. Returns false at once when no slot is
   * free; then the caller must give its worker slot back.
   */
  wait(owner: string, ms: number, stop: AbortSignal): Promise<boolean>;
}

/**
 * Creates `max` slots. An owner gets a second slot only while more than half of the slots are free,
 * so that many throttled owners get one each before one of them gets several.
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
