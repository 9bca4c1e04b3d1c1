import { parentPort } from 'node:worker_threads';
import { makeDkimKey } from './keys.ts';
import { signatureHeaders } from './signature.ts';
import type { DkimTask } from './threads.ts';

/** The thread that signs messages and makes keys: one task at a time. */
function answer(task: DkimTask): unknown {
  if (task.kind === 'make') return makeDkimKey(task.algorithm);
  const { buffer, byteOffset, byteLength } = task.raw;
  return signatureHeaders(Buffer.from(buffer, byteOffset, byteLength), task.keys, task.now);
}

parentPort?.on('message', (task: DkimTask) => parentPort?.postMessage(answer(task), []));
parentPort?.postMessage('ready', []);
