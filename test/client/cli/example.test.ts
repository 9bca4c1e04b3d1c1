import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readFiles } from '../../../api/files/reading/read.ts';
import { commands } from '../../../client/cli/commands.ts';
import { readFolder } from '../../../client/cli/folder/local-files.ts';
import { readSettings } from '../../../client/cli/frame/settings.ts';
import { useApi } from '../../support/api.ts';
import { useCli } from '../../support/cli.ts';

/** The folder with which users begin. */
const example = join(import.meta.dirname, '../../../docs/examples/shop-emails');

it('has no mistakes in its files', async () => {
  const { variables } = await readSettings(example);
  const { objects, problems } = readFiles(await readFolder(example), variables);
  expect(problems).toEqual([]);
  expect(objects.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['workflow', 'template', 'segment', 'topic']),
  );
});

it('is applied to an empty project, in which nothing differs then', async () => {
  const api = await useApi();
  const { secretKey: key } = await api.createProject((await api.signUp()).cookie);
  await api.request('POST', '/domains', { key, body: { domain: 'staging.shop.example' } });
  const cli = await useCli({
    EVERPOST_PROFILE: 'staging',
    EVERPOST_STAGING_URL: api.url,
    EVERPOST_STAGING_KEY: key,
  });
  await cp(example, cli.folder, { recursive: true });
  expect(await cli.run(['apply', '--yes'])).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await cli.run(['diff', '--exit-code'])).toMatchObject({ exitCode: 0, stdout: '[]\n' });
  expect((await cli.run(['pull'])).json()).toMatchObject({ written: [] });
});

it('has journey tests that pass', async () => {
  const cli = await useCli();
  const { exitCode, json } = await cli.run(['test', '--dir', example, '--json']);
  expect([exitCode, json()]).toMatchObject([0, { passed: 3, failed: 0 }]);
});

it('is tested and planned by CI with commands that exist', async () => {
  const folder = join(example, '.github/workflows');
  const [name] = await readdir(folder);
  const text = await readFile(join(folder, name!), 'utf8');
  const called = [...text.matchAll(/npx --no everpost (\w+)(.*)/g)];
  expect(called.map(([, command]) => command)).toEqual(['test', 'plan', 'apply']);
  for (const [, command, words = ''] of called) {
    const known = commands.find((each) => each.name === command)!;
    const options = [...words.matchAll(/--([a-z-]+)/g)].map(([, option]) => option!);
    const common = ['text', 'json'];
    expect(options.filter((each) => !(each in known.options) && !common.includes(each))).toEqual(
      [],
    );
  }
});
