import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import type { DkimAlgorithm } from '../../../domain/sender/dkim-record.ts';
import { ThreadPool } from '../../rendering/thread-pool.ts';
import type { NewDkimKey } from './keys.ts';
import type { SigningKeys } from './signature.ts';
import { bug } from '../../../domain/errors.ts';

/**
 * A task for a thread. `memory` is transferred to the thread until the thread returns it; see
 * `headBytes`.
 */
export type DkimTask =
  | { kind: 'sign'; memory: ArrayBuffer; keys: SigningKeys; now: Date }
  | { kind: 'make'; algorithm: DkimAlgorithm };

/** The memory of a message that a thread has returned. */
export interface SignedMemory {
  memory: ArrayBuffer;
  /** The signature headers. */
  headers: string;
}

/**
 * Free bytes before the message in the memory of a task. The signatures are written there: at most
 * two, of about 1,200 bytes each. So a large message is copied only once.
 */
export const headBytes = 4 * 1024;
/** Bytes of a message that are copied at a time, so that the event loop is not blocked. */
const pieceBytes = 4 * 1024 * 1024;

/** Signs messages and makes keys, in threads. Owners (projects) take turns. */
export interface DkimThreads {
  /**
   * Returns the message with its signatures as first lines.
   * @throws Error when the message cannot be signed
   */
  sign(raw: Buffer, keys: SigningKeys, owner: string): Promise<Buffer>;
  makeKey(algorithm: DkimAlgorithm, owner: string): Promise<NewDkimKey>;
  /** Ends the threads and aborts their tasks. */
  close(): Promise<void>;
}

/** Maximum number of milliseconds for one task. A message of 40 MB takes about half a second. */
const taskMs = 10_000;
const megabytes = 64;

/**
 * Creates threads for DKIM, which are started when needed. RSA takes longer than composing a
 * message, and large attachments must be hashed. Templates have other threads, so that a costly
 * template does not delay mail of other projects.
 */
export function createDkimThreads(): DkimThreads {
  // At least three threads, because one project never gets all threads, and two cores should sign
  // for one project.
  const count = Math.max(3, Math.min(5, availableParallelism()));
  const threads = new ThreadPool<DkimTask>(import.meta.url, 'sign-worker', count, megabytes);
  return {
    async sign(raw, keys, owner) {
      const memory = await copyOf(raw);
      const task = { kind: 'sign', memory, keys, now: new Date() } as const;
      const signed = await threads.run(owner, task, taskMs, { transfer: [memory] });
      if (typeof signed !== 'object')
        throw new Error('The stored keys of its domain cannot sign. Rotate the keys.');
      return withHeaders(signed as SignedMemory);
    },
    async makeKey(algorithm, owner) {
      const made = await threads.run(owner, { kind: 'make', algorithm }, taskMs);
      if (typeof made !== 'object') throw bug('The thread that makes DKIM keys has returned none.');
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
  if (start < 0)
    throw new Error(
      `The DKIM signatures of the message have more than ${headBytes} bytes, the maximum.`,
    );
  const message = Buffer.from(memory, start);
  message.write(headers, 'latin1');
  return message;
}
