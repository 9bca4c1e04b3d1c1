import { setImmediate } from 'node:timers/promises';
import { invalidField, Problem } from '../../../domain/errors.ts';
import { ThreadPool, wasStopped } from '../../../providers/rendering/thread-pool.ts';
import type { FileProblem, ReadObject } from '../reading/objects.ts';
import type { TemplateWarning } from '../../../domain/template/warnings.ts';
import { type ReadAnswer, type ReadTask, unpacked } from './messages.ts';
import type { WarnTask } from './template-warnings.ts';

/** Reads files in threads of their own, so that many or strange files delay no other request. */

/**
 * Maximum number of milliseconds for the files of one request. The slowest 20 MB take a quarter of
 * this.
 */
const readMs = 20_000;
const megabytes = 768;

/** The threads start with the first files, and do not keep the process alive. */
const threads = new ThreadPool<ReadTask | WarnTask>(import.meta.url, 'read-worker', 2, megabytes);

/**
 * Reads files like `readFiles`.
 * @param owner the project. Projects take turns
 * @throws Problem VALIDATION_ERROR if reading takes too long; SERVICE_UNAVAILABLE if no thread can
 * be started
 */
export async function readFilesApart(
  owner: string,
  files: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>>,
): Promise<{ objects: ReadObject[]; problems: FileProblem[] }> {
  const answer = await threads.run(owner, { files, variables }, readMs).catch((cause: unknown) => {
    throw new Problem('SERVICE_UNAVAILABLE', { cause });
  });
  if (answer === wasStopped) {
    const message = 'Reading the files takes too long. Send fewer files, or smaller ones.';
    throw invalidField('files', 'too_big', message);
  }
  const { objects, problems } = answer as ReadAnswer;
  const read: ReadObject[] = [];
  for (const object of objects) {
    read.push(unpacked(object));
    await setImmediate();
  }
  return { objects: read, problems };
}

/** Maximum number of milliseconds for the warnings of one task. */
const warnMs = 2_000;

/**
 * Finds the warnings of templates like `warningsOf`. Returns none if this takes too long.
 * @param owner the project. Projects take turns
 */
export async function findWarningsApart(
  owner: string,
  task: WarnTask,
): Promise<readonly (readonly TemplateWarning[])[]> {
  const answer = await threads.run(owner, task, warnMs).catch(() => []);
  return answer === wasStopped ? [] : (answer as TemplateWarning[][]);
}
