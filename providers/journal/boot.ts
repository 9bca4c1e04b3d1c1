import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Returns an id of the current start of this machine; null: the system has no such id. Journal
 * files from before this start may lack their last lines, because a worker does not wait until
 * lines are on the disk.
 */
export async function readBootId(): Promise<string | null> {
  const read =
    process.platform === 'darwin'
      ? async () =>
          (await promisify(execFile)('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'])).stdout
      : () => readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return read().then(
    (id) => id.trim() || null,
    () => null,
  );
}
