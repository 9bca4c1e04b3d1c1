import { parentPort } from 'node:worker_threads';
import { readFiles } from '../reading/read.ts';
import { packed, type ReadTask } from './messages.ts';

/** The thread that reads files, those of one request at a time. */
parentPort?.on('message', ({ files, variables }: ReadTask) => {
  const { objects, problems } = readFiles(files, variables);
  parentPort?.postMessage({ objects: objects.map(packed), problems }, []);
});
parentPort?.postMessage('ready', []);
