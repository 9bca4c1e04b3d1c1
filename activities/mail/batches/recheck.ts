/** Minimum number of milliseconds between two checks of claimed messages. */
const checkEveryMs = 400;
/**
 * Milliseconds for which the result of a check is valid. Users are promised that no message is
 * handed over later than a second after the response to a cancel, a pause or an opt-out. This time
 * counts from the end of the check, so a slow check may exceed the promise. If it counted from the
 * start, a slow database would stop all mail.
 */
const holdsMs = 900;

export interface Recheck {
  /** Waits for a new check if the last one is older than `checkEveryMs`. */
  renew(): Promise<void>;
  /** Returns true if a message may be given to the mail provider now. */
  mayBegin(emailId: string): boolean;
  /** Removes a message from further checks, because it was handed over. */
  done(emailId: string): void;
  close(): void;
}

/**
 * Checks claimed messages repeatedly while they are handed over, which may take seconds for each.
 * If all are handed over within `checkEveryMs`, no check is needed.
 * @param claimedAt `performance.now()` before the claim; `Date.now()` may jump
 * @param listStopped returns the ids of those given messages that must no longer be sent
 */
export function startRecheck(
  emailIds: readonly string[],
  claimedAt: number,
  listStopped: (emailIds: string[]) => Promise<string[]>,
): Recheck {
  const open = new Set(emailIds);
  const stopped = new Set<string>();
  let checkedAt = claimedAt;
  let checking: Promise<void> | null = null;
  const check = (): Promise<void> => {
    checking ??= (async () => {
      try {
        for (const id of await listStopped([...open])) stopped.add(id);
        checkedAt = performance.now();
      } catch {
        // If no check succeeds in time after a failed check, no further message is handed over, and
        // the rest is released.
      } finally {
        checking = null;
      }
    })();
    return checking;
  };
  const timer = setInterval(() => void check(), checkEveryMs);
  return {
    async renew() {
      if (performance.now() - checkedAt > checkEveryMs) await check();
    },
    mayBegin: (emailId) => !stopped.has(emailId) && performance.now() - checkedAt <= holdsMs,
    done: (emailId) => void open.delete(emailId),
    close: () => clearInterval(timer),
  };
}
