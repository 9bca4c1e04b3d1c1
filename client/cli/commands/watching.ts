import { setTimeout as sleep } from 'node:timers/promises';
import { secondsOf } from '../../../domain/time/duration.ts';
import type { Call } from '../frame/command.ts';
import { exitCodes, shownError, wrongCall } from '../frame/failure.ts';

/** The options of commands that show what happens. */
export const watchOptions = {
  since: {
    type: 'string',
    value: 'DURATION',
    summary: 'How far to look back: 90s, 15m, 24h or 7d; default: 24h',
  },
  watch: { type: 'boolean', summary: 'Go on, and show new ones as they come' },
} as const;

type WatchCall = Call<typeof watchOptions>;

const dayMs = 86_400_000;

/** Time between two looks at the server. */
const intervalMs = 2_000;

/**
 * Rows may become visible a little later than their time says, so each look begins this much before
 * the last one.
 */
const overlapMs = 60_000;

/** @throws Failure if `--since` is no duration */
export function sinceOf({ options: { since } }: WatchCall, now = new Date()): Date {
  const seconds = since === undefined ? dayMs / 1000 : secondsOf(since);
  if (seconds === null) {
    throw wrongCall(`--since takes a duration such as 90s, 15m, 24h or 7d, not "${since}".`);
  }
  return new Date(Math.max(0, now.getTime() - seconds * 1000));
}

/**
 * Looks at the server until Ctrl-C. It goes on while the server does not answer.
 * @param look shows what happened since `since`. It remembers, but does not show, what is older than
 * `shownFrom`: the time of `--since`, otherwise the start of the command.
 */
export async function watch(
  call: WatchCall,
  look: (since: Date, shownFrom: Date) => Promise<void>,
): Promise<void> {
  // A wrong --since is refused before the server is asked.
  sinceOf(call);
  let shownFrom: Date | undefined;
  let since: Date | undefined;
  let isAway = false;
  for (;;) {
    try {
      // Rows have times of the server. By a clock that is ahead, they would all be too old.
      const begun = await call.serverTime();
      shownFrom ??= call.options.since === undefined ? begun : sinceOf(call, begun);
      since ??= new Date(shownFrom.getTime() - overlapMs);
      await look(since, shownFrom);
      since = new Date(begun.getTime() - overlapMs);
      isAway = false;
    } catch (error) {
      call.signal.throwIfAborted();
      const { exitCode, message } = shownError(error);
      if (exitCode !== exitCodes.noAnswer) throw error;
      if (!isAway) call.output.note(`${message} Waiting for the server.`);
      isAway = true;
    }
    await sleep(intervalMs, undefined, { signal: call.signal });
  }
}

/** Remembers the newest ids, so that each is shown once. */
export class Seen<Mark> {
  readonly #marks = new Map<string, Mark>();
  static readonly #max = 100_000;

  get(id: string): Mark | undefined {
    return this.#marks.get(id);
  }

  set(id: string, mark: Mark): void {
    this.#marks.delete(id);
    this.#marks.set(id, mark);
    if (this.#marks.size <= Seen.#max) return;
    const [oldest] = this.#marks.keys();
    this.#marks.delete(oldest!);
  }
}
