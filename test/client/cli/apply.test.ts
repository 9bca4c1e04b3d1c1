import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestApi, useApi } from '../../support/api.ts';
import { type Cli, useCli } from '../../support/cli.ts';

let api: TestApi;
let cli: Cli;
let key: string;

beforeAll(async () => {
  api = await useApi();
});

beforeEach(async () => {
  const { cookie } = await api.signUp();
  ({ secretKey: key } = await api.createProject(cookie, 'Shop'));
  cli = await useCli({ EVERPOST_URL: api.url, EVERPOST_KEY: key });
});

const write = async (path: string, text: string) => {
  await mkdir(join(cli.folder, path, '..'), { recursive: true });
  await writeFile(join(cli.folder, path), text);
};

const topic = (name: string) => `name: ${name}\nvisibility: public\ndefault: subscribed\n`;

describe('plan', () => {
  it('shows what would change, and changes nothing', async () => {
    await write('topics/news.yaml', topic('News'));
    const { exitCode, json } = await cli.run(['plan', '--exit-code']);
    expect(exitCode).toBe(3);
    expect(json()).toMatchObject({
      state: 'open',
      summary: { create: 1 },
      changes: [{ action: 'create', kind: 'topic', key: 'news' }],
    });
    const text = await cli.run(['plan', '--text']);
    expect([text.exitCode, text.stdout]).toEqual([
      0,
      expect.stringContaining('+ create topic/news'),
    ]);
    const { body } = await api.request('GET', '/topics', { key });
    expect(body).toEqual([]);
  });

  it('names the mistakes of files with their lines', async () => {
    await write('topics/news.yaml', 'name: News\nvisbility: public\ndefault: subscribed\n');
    await write('topics/b.yaml', topic('${NAME}'));
    const { exitCode, stderr } = await cli.run(['plan']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/files\.topics\/news\.yaml#visbility \(line 2, column 1\)/);
    expect(stderr).toMatch(/files\.topics\/b\.yaml#name \(line 1, column 1\)/);
  });

  it('deletes nothing without --prune, and nothing that is protected', async () => {
    for (const name of ['news', 'kept']) {
      const body = { key: name, name, default: 'subscribed' };
      await api.request('POST', '/topics', { key, body });
    }
    const actions = async (...words: string[]) =>
      (await cli.run(['plan', ...words]))
        .json()
        .changes.map((change: { action: string; key: string }) => `${change.action} ${change.key}`);
    expect(await actions()).toEqual([]);
    expect(await actions('--prune')).toEqual([]);
    expect(await actions('--prune=topic/*')).toEqual(['delete kept', 'delete news']);
    await write('everpost.yaml', 'only: [topic/*]\nprotect: [topic/k*]');
    expect(await actions('--prune')).toEqual(['delete news']);
    expect((await cli.run(['plan', '--prune=news'])).exitCode).toBe(2);
  });
});
