import { parentPort } from 'node:worker_threads';
import { readFiles } from '../reading/read.ts';
import { packed, type ReadTask } from './messages.ts';
import { type WarnTask, warningsOf } from './template-warnings.ts';

/** The thread that reads files and looks for warnings, those of one request at a time. */
async function answer(task: ReadTask | WarnTask): Promise<unknown> {
  if ('templates' in task) return warningsOf(task);
  const { objects, problems } = readFiles(task.files, task.variables);
  return { objects: objects.map(packed), problems };
}

parentPort?.on('message', async (task: ReadTask | WarnTask) => {
  parentPort?.postMessage(await answer(task), []);
});
parentPort?.postMessage('ready', []);
