import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { logFile } from '../../../dev/logs/log-file.ts';
import { useFolder } from '../../support/use.ts';

it('keeps a full log file beside the new one, and no third', async () => {
  const path = join(await useFolder(), 'api.log');
  const write = logFile(path, 12);
  for (const line of ['first', 'second', 'third', 'fourth']) write(line);
  await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe('fourth\n'));
  await vi.waitFor(() => expect(readFileSync(`${path}.1`, 'utf8')).toBe('third\n'));
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('begins anew with every start', async () => {
  const path = join(await useFolder(), 'api.log');
  logFile(path)('before');
  await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe('before\n'));
  logFile(path)('after');
  await vi.waitFor(() => expect(readFileSync(path, 'utf8')).toBe('after\n'));
});
