import { availableParallelism } from 'node:os';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';
import { ThreadPool } from '../../rendering/thread-pool.ts';
import type { NewDkimKey } from './keys.ts';
import type { SigningKeys } from './signature.ts';

/** A task for a thread. `raw`: a copy of the message, for the thread alone. */
export type DkimTask =
  | { kind: 'sign'; raw: Uint8Array<ArrayBuffer>; keys: SigningKeys; now: Date }
  | { kind: 'make'; algorithm: DkimAlgorithm };

/** Signs and makes keys. Owners (projects) take turns. */
export interface DkimThreads {
  /**
   * Returns the message with its signatures as first lines.
   * @throws Error when it cannot be signed.
   */
  sign(raw: Buffer, keys: SigningKeys, owner: string): Promise<Buffer>;
  makeKey(algorithm: DkimAlgorithm, owner: string): Promise<NewDkimKey>;
  /** Ends the threads and aborts their tasks. */
  close(): Promise<void>;
}

/** Time for one task in milliseconds. A message of 40 MB takes about half a second. */
const taskMs = 10_000;
const megabytes = 64;

/**
 * Creates threads for DKIM, which are started on demand: RSA takes longer than composing a message,
 * and an attachment may have many megabytes to hash. They are others than those for templates, so
 * that a costly template does not delay the mail of other projects.
 */
export function createDkimThreads(): DkimThreads {
  const count = Math.max(2, Math.min(4, availableParallelism() - 1));
  const threads = new ThreadPool<DkimTask>(import.meta.url, 'sign-worker', count, megabytes);
  return {
    async sign(raw, keys, owner) {
      const copy = new Uint8Array(raw);
      const task = { kind: 'sign', raw: copy, keys, now: new Date() } as const;
      const headers = await threads.run(owner, task, taskMs, { transfer: [copy.buffer] });
      if (typeof headers !== 'string') throw new Error('The message could not be signed (DKIM).');
      return Buffer.concat([Buffer.from(headers), raw]);
    },
    async makeKey(algorithm, owner) {
      const made = await threads.run(owner, { kind: 'make', algorithm }, taskMs);
      if (typeof made !== 'object') throw new Error('No DKIM key could be made.');
      return made as NewDkimKey;
    },
    close: () => threads.close(),
  };
}
