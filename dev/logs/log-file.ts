import { createWriteStream, fchmodSync, openSync, renameSync, type WriteStream } from 'node:fs';
import { maskSecrets } from '../../domain/logging.ts';

/** Maximum size of a log file, in bytes. The one before it is kept as `….1`. */
const bytesMax = 50 * 2 ** 20;

/**
 * Begins a log anew; only the user who started the stack may read it. A file that is full moves to
 * `<path>.1`, so that a log takes at most twice its maximum.
 * @returns writes one line. An error of the disk must not stop the servers, so it loses the line.
 */
export function logFile(path: string, sizeMax = bytesMax): (line: string) => void {
  let file = openLog(path);
  let size = 0;
  return (line) => {
    const text = `${maskSecrets(line)}\n`;
    if (size > 0 && size + text.length > sizeMax) {
      file.end();
      renameSync(path, `${path}.1`);
      file = openLog(path);
      size = 0;
    }
    size += text.length;
    file.write(text);
  };
}

function openLog(path: string): WriteStream {
  const fd = openSync(path, 'w', 0o600);
  fchmodSync(fd, 0o600);
  return createWriteStream(path, { fd }).on('error', () => undefined);
}
