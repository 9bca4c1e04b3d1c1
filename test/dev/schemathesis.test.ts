import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { useFolder } from '../support/use.ts';

const root = path.join(import.meta.dirname, '../..');

it('says that it was left out where there is no Python, and leaves nothing behind', async () => {
  const cache = await useFolder();
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/conformance/schemathesis.ts'], {
    cwd: root,
    env: { PATH: cache, XDG_CACHE_HOME: cache },
  });
  let said = '';
  child.stdout.on('data', (piece: Buffer) => (said += piece.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(77);
  expect(said).toBe('Schemathesis was left out: it needs Python 3 with venv and pip, and PyPI.\n');
  expect(await readdir(path.join(cache, 'everpost'))).toEqual([]);
});
