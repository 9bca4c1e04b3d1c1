/** Milliseconds between two checks of claimed messages. */
const checkEveryMs = 400;
/**
 * Milliseconds for which the result of a check is valid. Users are promised that no message begins
 * later than a second after the response to a cancel, a pause or an opt-out. The time counts from
 * the end of a check, so that a slow database does not stop all mail. While checks are slow, a
 * message may begin later by their duration.
 */
const holdsMs = 900;

export interface Recheck {
  /** Waits for a new check if the last one is older than `checkEveryMs`. */
  renew(): Promise<void>;
  /** Returns true if a message may be given to the mail provider now. */
  mayBegin(emailId: string): boolean;
  /** Excludes a message from further checks. */
  done(emailId: string): void;
  close(): void;
}

/**
 * Checks claimed messages again while they are given to the mail provider, which may take seconds
 * for each. A claim whose messages are sent within `checkEveryMs` costs no check.
 * @param claimedAt `performance.now()` before the claim; `Date.now()` may jump
 * @param listStopped returns the ids of the given messages that must no longer be sent
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
        // The check has failed. If no later one succeeds in time, no message may begin, and the rest
        // is released.
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
