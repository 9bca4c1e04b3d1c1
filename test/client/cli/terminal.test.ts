import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { buildCli } from '../../../dev/builds/cli.mjs';
import { useApi } from '../../support/api.ts';
import { atEnd, useFolder } from '../../support/use.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Gives a program a terminal; part of every Linux. */
const hasScript = spawnSync('script', ['--version']).status === 0;

/** Runs a command on a terminal, and answers each question. Returns all that the terminal shows. */
async function onTerminal(
  words: string,
  answers: readonly (readonly [question: string, answer: string])[],
  options: { cwd: string; env: Record<string, string> },
): Promise<{ exitCode: number; shown: string }> {
  const command = `${process.execPath} ${await buildCli()} ${words}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...options.env },
  });
  atEnd(() => child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  for (const [question, answer] of answers) {
    await waitFor(question, () => shown.includes(question));
    child.stdin.write(`${answer}\r`);
  }
  const [exitCode] = (await once(child, 'close')) as [number];
  return { exitCode, shown };
}

it.runIf(hasScript)('asks on a terminal, and does not show the key', async () => {
  const api = await useApi();
  const { secretKey: key } = await api.createProject((await api.signUp()).cookie, 'Shop');
  const [cwd, home] = [await useFolder(), await useFolder()];
  const options = { cwd, env: { XDG_CONFIG_HOME: home } };
  const login = await onTerminal(
    'login',
    [
      ['Url of the server: ', api.url],
      [`Secret key for ${api.url}: `, key],
    ],
    options,
  );
  expect(login).toMatchObject({ exitCode: 0, shown: expect.not.stringContaining(key) });
  expect(await readFile(join(home, 'everpost/config.json'), 'utf8')).toContain(key);
  await mkdir(join(cwd, 'topics'));
  const topic = 'name: News\nvisibility: public\ndefault: subscribed\n';
  await writeFile(join(cwd, 'topics/news.yaml'), topic);
  const unanswered = await onTerminal('apply', [['Apply to Shop?', '\u0004']], options);
  expect(unanswered).toMatchObject({
    exitCode: 1,
    shown: expect.stringContaining('The question has no answer.'),
  });
  const declined = await onTerminal('apply', [['Apply to Shop?', 'n']], options);
  expect(declined).toMatchObject({
    exitCode: 1,
    shown: expect.stringContaining('\u001b[32m+ create'),
  });
  const applied = await onTerminal('apply', [['Apply to Shop?', 'y']], options);
  expect(applied).toMatchObject({
    exitCode: 0,
    shown: expect.stringContaining('Applied to Shop.'),
  });
  const plain = { ...options, env: { ...options.env, NO_COLOR: '1' } };
  expect((await onTerminal('plan', [], plain)).shown).not.toContain('\u001b[');
});
