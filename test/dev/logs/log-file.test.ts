import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { logFile } from '../../../dev/logs/log-file.ts';
import { useFolder } from '../../support/use.ts';

const text = (path: string) => readFileSync(path, 'utf8');

it('keeps the newest full log files, and no more than it may', async () => {
  const folder = await useFolder();
  const path = join(folder, 'api.log');
  const write = logFile(path, { bytesMax: 12, filesMax: 3 });
  for (const line of ['first', 'second', 'third', 'fourth', 'fifth']) write(line);
  await vi.waitFor(() => expect(text(path)).toBe('fifth\n'));
  await vi.waitFor(() => expect(text(`${path}.1`)).toBe('fourth\n'));
  await vi.waitFor(() => expect(text(`${path}.2`)).toBe('third\n'));
  expect(readdirSync(folder)).toHaveLength(3);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

it('never makes a file larger than it may be, also for a long line', async () => {
  const folder = await useFolder();
  const path = join(folder, 'api.log');
  const write = logFile(path, { bytesMax: 100, filesMax: 4 });
  for (let n = 0; n < 50; n += 1) write(`${n} ${'ö'.repeat(n * 2)}`);
  await vi.waitFor(() => expect(text(path)).toContain('49 ö'));
  const sizes = readdirSync(folder).map((file) => statSync(join(folder, file)).size);
  expect(sizes).toHaveLength(4);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
});

it('begins anew with every start, and keeps the log of the earlier one', async () => {
  const path = join(await useFolder(), 'api.log');
  const settings = { bytesMax: 1_000, filesMax: 2 };
  logFile(path, settings)('before');
  await vi.waitFor(() => expect(text(path)).toBe('before\n'));
  logFile(path, settings)('after');
  await vi.waitFor(() => expect(text(path)).toBe('after\n'));
  expect(text(`${path}.1`)).toBe('before\n');
});

it('removes files of a start that could have more, and has one file if it may have one', async () => {
  const folder = await useFolder();
  const path = join(folder, 'api.log');
  const write = logFile(path, { bytesMax: 10, filesMax: 4 });
  for (const line of ['first', 'second', 'third', 'fourth']) write(line);
  await vi.waitFor(() => expect(text(path)).toBe('fourth\n'));
  const one = logFile(path, { bytesMax: 10, filesMax: 1 });
  one('fifth');
  one('sixth');
  await vi.waitFor(() => expect(text(path)).toBe('sixth\n'));
  expect(readdirSync(folder)).toEqual(['api.log']);
});

it('loses lines while its folder cannot be written, and then goes on', async () => {
  const folder = join(await useFolder(), 'logs');
  const path = join(folder, 'api.log');
  const write = logFile(path, { bytesMax: 10, filesMax: 3 });
  write('lost');
  mkdirSync(folder);
  write('first');
  await vi.waitFor(() => expect(text(path)).toBe('first\n'));
  rmSync(folder, { recursive: true });
  write('second');
  mkdirSync(folder);
  write('third');
  await vi.waitFor(() => expect(text(path)).toBe('third\n'));
});
