import { parentPort } from 'node:worker_threads';
import { makeDkimKey } from './keys.ts';
import { signatureHeaders } from './signature.ts';
import { type DkimTask, headBytes, type SignedMemory } from './threads.ts';

/** The thread that signs messages and makes keys, one task at a time. */
parentPort?.on('message', (task: DkimTask) => {
  if (task.kind === 'make') return parentPort?.postMessage(makeDkimKey(task.algorithm), []);
  const { memory, keys, now } = task;
  const headers = signatureHeaders(Buffer.from(memory, headBytes), keys, now);
  return parentPort?.postMessage({ memory, headers } satisfies SignedMemory, [memory]);
});
parentPort?.postMessage('ready', []);
