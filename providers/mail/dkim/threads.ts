import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';
import { ThreadPool } from '../../rendering/thread-pool.ts';
import type { NewDkimKey } from './keys.ts';
import type { SigningKeys } from './signature.ts';

/** A task for a thread. `memory`: belongs to the thread until it is returned; see `headBytes`. */
export type DkimTask =
  | { kind: 'sign'; memory: ArrayBuffer; keys: SigningKeys; now: Date }
  | { kind: 'make'; algorithm: DkimAlgorithm };

/** A message in memory that has come back from a thread. */
export interface SignedMemory {
  memory: ArrayBuffer;
  /** The signatures. */
  headers: string;
}

/**
 * Free bytes before a message in the memory of a task: a signature has about 1,200, and a message
 * has two at most. So a large message is copied only once.
 */
export const headBytes = 4 * 1024;
/** A message is copied in pieces of this size, in bytes, so that the event loop is not blocked. */
const pieceBytes = 4 * 1024 * 1024;

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
  // One project never gets all threads, and two cores should sign for it.
  const count = Math.max(3, Math.min(5, availableParallelism()));
  const threads = new ThreadPool<DkimTask>(import.meta.url, 'sign-worker', count, megabytes);
  return {
    async sign(raw, keys, owner) {
      const memory = await copyOf(raw);
      const task = { kind: 'sign', memory, keys, now: new Date() } as const;
      const signed = await threads.run(owner, task, taskMs, { transfer: [memory] });
      if (typeof signed !== 'object') throw new Error('The message could not be signed (DKIM).');
      return withHeaders(signed as SignedMemory);
    },
    async makeKey(algorithm, owner) {
      const made = await threads.run(owner, { kind: 'make', algorithm }, taskMs);
      if (typeof made !== 'object') throw new Error('No DKIM key could be made.');
      return made as NewDkimKey;
    },
    close: () => threads.close(),
  };
}

async function copyOf(raw: Buffer): Promise<ArrayBuffer> {
  const memory = new ArrayBuffer(headBytes + raw.length);
  const bytes = new Uint8Array(memory);
  for (let at = 0; at < raw.length; at += pieceBytes) {
    if (at > 0) await setImmediate();
    bytes.set(raw.subarray(at, at + pieceBytes), headBytes + at);
  }
  return memory;
}

function withHeaders({ memory, headers }: SignedMemory): Buffer {
  const start = headBytes - headers.length;
  if (start < 0) throw new Error(`The signatures have more than ${headBytes} bytes.`);
  const message = Buffer.from(memory, start);
  message.write(headers, 'latin1');
  return message;
}
