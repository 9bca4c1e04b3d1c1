import {
  createWriteStream,
  existsSync,
  fchmodSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  type WriteStream,
} from 'node:fs';
import { maskSecrets } from '../../domain/logging.ts';
import type { LogFileSettings } from '../../providers/log-file-settings.ts';

/**
 * Starts a new log file, which only the user who started the stack may read. A full file, or the
 * file of an earlier start, is renamed to `<path>.1`. The file that had this name before is renamed
 * to `<path>.2`, and so on.
 * @returns a function that writes one line. After a disk error, lines are lost, because the error
 * must not stop the servers. The log continues when the disk can be written again.
 */
export function logFile(path: string, settings: LogFileSettings): (line: string) => void {
  const { bytesMax, filesMax } = settings;
  let file: WriteStream | null = null;
  let size = 0;
  const begin = () => {
    file?.end();
    if (size > 0 || hasLines(path)) moveOn(path, filesMax);
    size = 0;
    file = openLog(path);
  };
  const write = (text: Buffer) => {
    if (size > 0 && size + text.length > bytesMax) begin();
    // A stream cannot be used after its first error, so the file is opened again.
    if (!file || file.errored) file = openLog(path);
    size += text.length;
    file.write(text);
  };
  const orLose = (work: () => void) => {
    try {
      work();
    } catch {
      file = null;
    }
  };
  orLose(() => {
    removeFrom(filesMax, path);
    begin();
  });
  return (line) => {
    const text = Buffer.from(`${maskSecrets(line)}\n`);
    orLose(() => write(text.length > bytesMax ? text.subarray(0, bytesMax) : text));
  };
}

const nameOf = (path: string, number: number) => (number === 0 ? path : `${path}.${number}`);

function hasLines(path: string): boolean {
  return existsSync(path) && statSync(path).size > 0;
}

/** Renames the files, so that `path` is free and fewer than `filesMax` files remain. */
function moveOn(path: string, filesMax: number): void {
  removeFrom(filesMax - 1, path);
  for (let number = filesMax - 1; number > 0; number -= 1) {
    const newer = nameOf(path, number - 1);
    if (existsSync(newer)) renameSync(newer, nameOf(path, number));
  }
}

/** Removes the files whose number is `first` or higher. */
function removeFrom(first: number, path: string): void {
  for (let number = first; existsSync(nameOf(path, number)); number += 1) {
    rmSync(nameOf(path, number));
  }
}

function openLog(path: string): WriteStream {
  const fd = openSync(path, 'a', 0o600);
  fchmodSync(fd, 0o600);
  return createWriteStream(path, { fd }).on('error', () => undefined);
}
