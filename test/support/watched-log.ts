/** Minimum number of characters of a secret. Shorter texts may be in a log for another reason. */
const charsMin = 12;

/**
 * The log of a server under test. Tests register secrets, and at the end the log is searched for
 * them.
 */
export interface WatchedLog {
  stream: { write(line: string): void };
  /**
   * Registers keys, passwords, cookies and mail bodies; other values and short texts are ignored.
   */
  mustNotTell(...secrets: unknown[]): void;
  /** Returns the log entries so far, oldest first. */
  entries(): Record<string, unknown>[];
  /** @throws Error with the line that contains a secret. */
  check(): void;
}

export function watchLog(): WatchedLog {
  const lines: string[] = [];
  const secrets = new Set<string>();
  return {
    stream: { write: (line) => void lines.push(line) },
    mustNotTell(...given) {
      for (const secret of given) {
        // The log is JSON, so the secret is searched in its JSON form.
        if (typeof secret === 'string' && secret.length >= charsMin) {
          secrets.add(JSON.stringify(secret).slice(1, -1));
        }
      }
    },
    entries: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    check() {
      const log = lines.join('');
      for (const secret of secrets) {
        if (!log.includes(secret)) continue;
        throw new Error(`The log tells a secret: ${lines.find((line) => line.includes(secret))}`);
      }
    },
  };
}
