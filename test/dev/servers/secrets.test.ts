import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { keptSecret } from '../../../dev/servers/secrets.ts';
import { useFolder } from '../../support/use.ts';

const directory = await useFolder();

describe('keptSecret', () => {
  it('makes a secret of 64 characters that only its owner can read', async () => {
    const path = join(directory, 'made');
    expect(await keptSecret(path)).toMatch(/^[\w-]{64}$/);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('answers the same secret at the next start', async () => {
    const path = join(directory, 'kept');
    const secret = await keptSecret(path);
    expect(await keptSecret(path)).toBe(secret);
    expect((await readFile(path, 'utf8')).trim()).toBe(secret);
  });

  it('makes a different one for another path', async () => {
    expect(await keptSecret(join(directory, 'a'))).not.toBe(await keptSecret(join(directory, 'b')));
  });

  it('refuses a file that was cut short, naming it', async () => {
    const path = join(directory, 'short');
    await writeFile(path, 'oops');
    await expect(keptSecret(path)).rejects.toThrow(`${path} is damaged`);
  });
});
