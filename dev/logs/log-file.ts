import { createWriteStream, fchmodSync, openSync, renameSync, type WriteStream } from 'node:fs';
import { maskSecrets } from '../../domain/logging.ts';

/** Maximum size of a log file, in bytes. The previous file is kept as `….1`. */
const bytesMax = 50 * 2 ** 20;

/**
 * Starts a new log file, which only the user who started the stack may read. A full file is renamed
 * to `<path>.1`, so a log takes at most twice its maximum size.
 * @returns a function that writes one line. A disk error loses the line, because it must not stop
 * the servers.
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
