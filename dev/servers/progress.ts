const firstAfterMs = 3000;
const thenEveryMs = 15_000;

/**
 * Waits for a promise, and reports a long wait: after 3, 6, 12 and 24 seconds, then every 15
 * seconds.
 * @param what returns the name of the part that is being started, for the reports: "PostgreSQL"
 */
export async function announced<T>(
  what: () => string,
  work: Promise<T>,
  print: (line: string) => void,
): Promise<T> {
  const startedAt = Date.now();
  let timer: NodeJS.Timeout | undefined;
  const speakAfter = (pauseMs: number) => {
    timer = setTimeout(() => {
      const elapsedMs = Date.now() - startedAt;
      print(`Still starting ${what()} (${Math.round(elapsedMs / 1000)} s) …`);
      speakAfter(Math.min(elapsedMs, thenEveryMs));
    }, pauseMs);
  };
  speakAfter(firstAfterMs);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
