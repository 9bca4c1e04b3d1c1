/** Milliseconds between two checks of claimed messages. */
const checkEveryMs = 400;
/**
 * Milliseconds for which a check holds. A second is promised to users: no message begins later after the
 * response to a cancel, a pause or an opt-out. A check takes some milliseconds; while the database is slow,
 * the promise is late by as much, because otherwise nothing would be sent.
 */
const holdsMs = 900;

export interface Recheck {
  /** Waits for a new check, if the last one does not hold for long. */
  renew(): Promise<void>;
  /** Returns true if a message may be given to the mail provider now. */
  mayBegin(emailId: string): boolean;
  /** A message needs no more checks. */
  done(emailId: string): void;
  /** Ends the checks. */
  close(): void;
}

/**
 * Checks claimed messages again while they are given to the mail provider, which may take seconds for each.
 * A claim whose messages are sent within `checkEveryMs` costs no check.
 * @param claimedAt `performance.now()` before the messages were claimed: the clock of the machine may jump
 * @param listStopped returns those messages that must not be sent any more
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
        // Without the database nothing can be checked, so nothing begins: the claim is released.
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
