import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestApi, useApi } from '../../support/api.ts';
import { type Cli, useCli } from '../../support/cli.ts';
import { listen, use } from '../../support/use.ts';

let api: TestApi;
let cli: Cli;
let cookie: string;
let key: string;

beforeAll(async () => {
  api = await useApi();
});

beforeEach(async () => {
  ({ cookie } = await api.signUp());
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
    const shown = await cli.run(['plan', '--text']);
    expect([shown.exitCode, shown.stdout]).toEqual([
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

describe('apply', () => {
  it('makes what the files say, and then has nothing left to do', async () => {
    await write('topics/news.yaml', topic('News'));
    const asked = await cli.run(['apply']);
    expect([asked.exitCode, asked.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    const { exitCode, json } = await cli.run(['apply', '--yes', '--note', 'First']);
    expect(exitCode).toBe(0);
    expect(json()).toMatchObject({ state: 'applied', note: 'First', summary: { create: 1 } });
    expect((await cli.run(['diff', '--exit-code'])).exitCode).toBe(0);
    const again = await cli.run(['apply']);
    expect([again.exitCode, again.json().changes]).toEqual([0, []]);
  });

  it('applies a plan that was made before, once', async () => {
    await write('topics/news.yaml', topic('News'));
    const { id } = (await cli.run(['plan'])).json();
    const first = await cli.run(['apply', id, '--yes']);
    const again = await cli.run(['apply', id, '--yes']);
    expect([first.exitCode, again.json()]).toEqual([0, first.json()]);
    const unknown = '7c000000-0000-4000-8000-000000000001';
    expect((await cli.run(['apply', unknown, '--yes'])).exitCode).toBe(1);
  });

  it('is made once when the answer is lost', async () => {
    await write('topics/news.yaml', topic('News'));
    let lost = 0;
    const proxy = createServer((request, response) => {
      void (async () => {
        const body = request.method === 'POST' ? await text(request) : undefined;
        const headers = request.headers as Record<string, string>;
        const given = {
          authorization: headers['authorization']!,
          'content-type': 'application/json',
        };
        const init = { method: request.method!, headers: given, ...(body ? { body } : {}) };
        const answer = await fetch(api.url + request.url, init);
        const answered = await answer.text();
        if (request.url === '/apply' && lost++ === 0) return response.destroy();
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        return response.end(answered);
      })();
    });
    const { url } = use(await listen(proxy));
    const { exitCode, json } = await cli.run(['apply', '--yes'], { env: { EVERPOST_URL: url } });
    expect([exitCode, json().state, lost]).toEqual([0, 'applied', 2]);
    const { body } = await api.request('GET', '/plans?state=applied', { key });
    expect(body.data).toHaveLength(1);
  });

  it('is refused when the project has changed since the plan', async () => {
    await write('topics/news.yaml', topic('News'));
    await cli.run(['apply', '--yes']);
    await write('topics/news.yaml', topic('Offers'));
    const { id } = (await cli.run(['plan'])).json();
    const [{ id: topicId }] = (await api.request('GET', '/topics', { key })).body;
    await api.request('PATCH', `/topics/${topicId}`, { key, body: { name: 'Other' } });
    const { exitCode, stderr } = await cli.run(['apply', id, '--yes']);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('PLAN_STALE')]);
  });
});

describe('promote', () => {
  it('takes a project to another one, with the variables of that one', async () => {
    const other = await api.createProject(cookie, 'Live');
    for (const [domain, secret] of [
      ['staging.shop.example', key],
      ['live.shop.example', other.secretKey],
    ] as const) {
      await api.request('POST', '/domains', { key: secret, body: { domain } });
    }
    await write(
      'everpost.yaml',
      [
        'profiles:',
        '  default: {variables: {SENDER: hi@staging.shop.example}}',
        `  live: {url: "${api.url}", variables: {SENDER: hi@live.shop.example}}`,
      ].join('\n'),
    );
    const template = [
      '---',
      'name: Welcome',
      'subject: Hi',
      'type: TRANSACTIONAL',
      'from: ${SENDER}',
      '---',
      '<p>Hi</p>',
    ].join('\n');
    await write('templates/welcome.html', template);
    expect((await cli.run(['apply', '--yes'])).exitCode).toBe(0);
    const [{ id }] = (await api.request('GET', '/templates', { key })).body.data;
    await api.request('PATCH', `/templates/${id}`, { key, body: { subject: 'Hello' } });
    const env = { EVERPOST_LIVE_KEY: other.secretKey };
    const words = ['promote', '--from', 'default', '--to', 'live'];
    expect((await cli.run(words, { env })).exitCode).toBe(2);
    expect((await cli.run([...words, '--yes'], { env })).exitCode).toBe(0);
    const { body } = await api.request('GET', '/templates', { key: other.secretKey });
    expect(body.data).toMatchObject([{ subject: 'Hello', from: 'hi@live.shop.example' }]);
    const again = await cli.run(words, { env });
    expect([again.exitCode, again.json().changes]).toEqual([0, []]);
    expect(await readFile(join(cli.folder, 'templates/welcome.html'), 'utf8')).toBe(template);
    expect(await readdir(cli.folder)).toEqual(['everpost.yaml', 'templates']);
  });

  it('needs two profiles with keys', async () => {
    expect((await cli.run(['promote'])).exitCode).toBe(2);
    const same = ['promote', '--from', 'default', '--to', 'default'];
    expect((await cli.run(same)).exitCode).toBe(2);
    expect((await cli.run(['promote', '--from', 'default', '--to', 'live'])).exitCode).toBe(2);
  });
});
