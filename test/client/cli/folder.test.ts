import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestApi, useApi } from '../../support/api.ts';
import { type Cli, useCli } from '../../support/cli.ts';
import { listen, use, useFolder } from '../../support/use.ts';

let api: TestApi;
let cli: Cli;
let key: string;
let templateId: string;

beforeAll(async () => {
  api = await useApi();
});

beforeEach(async () => {
  ({ secretKey: key } = await api.createProject((await api.signUp()).cookie));
  cli = await useCli({ EVERPOST_URL: api.url, EVERPOST_KEY: key });
  const template = { name: 'Welcome', subject: 'Hi', body: '<p>Hi</p>', type: 'TRANSACTIONAL' };
  await make('/topics', { key: 'news', name: 'News', default: 'subscribed' });
  templateId = await make('/templates', template);
});

async function make(path: string, body: object): Promise<string> {
  const answer = await api.request('POST', path, { key, body });
  expect([answer.status, answer.body.error]).toEqual([201, undefined]);
  return answer.body.id;
}

const read = (path: string) => readFile(join(cli.folder, path), 'utf8');
const write = (path: string, text: string) => writeFile(join(cli.folder, path), text);

describe('pull', () => {
  it('and diff refuse two files of one object, and name both', async () => {
    await cli.run(['pull']);
    await write('topics/news.json', '{"name": "News", "default": "unsubscribed"}');
    for (const words of [['diff'], ['pull', '--yes']]) {
      const { exitCode, stdout, stderr } = await cli.run(words);
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/topics\/news\.(yaml|json): topics\/news\.(?!\1)/);
    }
  });

  it('writes the project, which then has no differences', async () => {
    const { exitCode, stderr, json } = await cli.run(['pull']);
    expect([exitCode, stderr]).toEqual([0, '']);
    const paths = ['templates/welcome.html', 'topics/news.yaml'];
    expect(json()).toEqual({ written: paths, unchanged: 0, removed: [] });
    expect((await readFile(join(cli.folder, 'topics/news.yaml'), 'utf8')).split('\n')[0]).toBe(
      '# yaml-language-server: $schema=../.everpost/schemas/topic.json',
    );
    const schema = JSON.parse(await read('.everpost/schemas/topic.json')) as object;
    expect(schema).toEqual((await api.request('GET', '/schemas/topic.json')).body);
    expect((await cli.run(['diff', '--exit-code'])).exitCode).toBe(0);
    expect((await cli.run(['pull'])).json()).toEqual({ written: [], unchanged: 2, removed: [] });
  });

  it('writes all kinds of objects, which then mean the same', async () => {
    const domain = { domain: 'shop.example' };
    await api.request('POST', '/domains', { key, body: domain });
    const put = (path: string, body: object) => api.request('PUT', path, { key, body });
    await put('/secrets/CRM', { value: 'hidden' });
    const pro = { field: 'data.plan', operator: 'equals', value: 'pro' };
    const condition = { logic: 'AND', groups: [{ filters: [pro] }] };
    const segmentId = await make('/segments', { name: 'Pro', type: 'DYNAMIC', condition });
    await make('/event-subscriptions', {
      url: 'https://hooks.shop.example/x',
      events: ['order_placed'],
      headers: { 'X-Plain': 'hush', Authorization: 'Bearer {{secret.CRM}}' },
    });
    await put('/send-policy', { timeZone: 'Europe/Berlin' });
    await put('/consent-policy', { remindAfter: 3600 });
    await make('/workflows', {
      name: 'Weekly',
      graph: {
        trigger: {
          type: 'SCHEDULE',
          config: { cron: '0 9 * * mon', timeZone: 'Europe/Berlin', segmentId },
        },
        steps: [
          { type: 'TRIGGER' },
          { key: 'mail', type: 'SEND_EMAIL', name: 'Mail', templateId, config: {} },
        ],
        transitions: [{ from: 'trigger', to: 'mail' }],
      },
    });
    const { written } = (await cli.run(['pull'])).json();
    expect(written).toEqual([
      'policies/consent.yaml',
      'policies/send.yaml',
      'segments/pro.yaml',
      'subscriptions/hooks-shop-example.yaml',
      'templates/welcome.html',
      'topics/news.yaml',
      'workflows/weekly.yaml',
    ]);
    expect(await cli.run(['diff', '--exit-code'])).toMatchObject({ exitCode: 0, stderr: '' });
    const plan = await cli.run(['plan', '--exit-code']);
    expect([plan.exitCode, plan.json().summary.unchanged]).toEqual([0, 7]);
    await write('subscriptions/hooks-shop-example.yaml', '# ours\nurl: [');
    expect((await cli.run(['pull', '--yes'])).json().written).toHaveLength(1);
    expect(await read('subscriptions/hooks-shop-example.yaml')).toContain('•••');
  });

  it('keeps comments, and changes only the values that differ', async () => {
    await cli.run(['pull']);
    const pulled = await read('templates/welcome.html');
    const commented = pulled.replace('name: Welcome', '# ours\nname: Welcome # shown in lists');
    await write('templates/welcome.html', commented);
    expect((await cli.run(['pull'])).json()).toMatchObject({ written: [], unchanged: 2 });
    expect(await read('templates/welcome.html')).toBe(commented);
    const body = { name: 'Hello' };
    await api.request('PATCH', `/templates/${templateId}`, { key, body });
    const refused = await cli.run(['pull']);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await read('templates/welcome.html')).toBe(commented);
    expect((await cli.run(['pull', '--yes'])).json().written).toEqual(['templates/welcome.html']);
    expect(await read('templates/welcome.html')).toBe(
      commented.replace('name: Welcome', 'name: Hello'),
    );
  });

  it('removes files without object only with --prune, and of the chosen objects', async () => {
    await cli.run(['pull']);
    await write('topics/gone.yaml', 'name: Gone\nvisibility: public\ndefault: subscribed\n');
    expect((await cli.run(['pull'])).json().removed).toEqual([]);
    await write('everpost.yaml', 'only: [template/*]');
    expect((await cli.run(['pull', '--prune', '--yes'])).json().removed).toEqual([]);
    await write('everpost.yaml', '');
    expect((await cli.run(['pull', '--prune'])).exitCode).toBe(2);
    const others = await cli.run(['pull', '--prune=template/*', '--yes']);
    expect([others.exitCode, others.json().removed]).toEqual([0, []]);
    await write('topics/README.md', 'Ours');
    const { stdout } = await cli.run(['pull', '--prune', '--yes', '--text']);
    expect(stdout).toContain('removed  topics/gone.yaml');
    expect(await readdir(join(cli.folder, 'topics'))).toEqual(['README.md', 'news.yaml']);
  });

  it('keeps variables whose value is equal, of the chosen profile', async () => {
    await cli.run(['pull']);
    const text = (await read('topics/news.yaml')).replace('name: News', 'name: ${NAME}');
    await write('topics/news.yaml', text);
    await write(
      'everpost.yaml',
      'variables: {NAME: Old}\nprofiles: {default: {variables: {NAME: News}}}',
    );
    expect((await cli.run(['pull'])).json()).toMatchObject({ written: [], unchanged: 2 });
    expect(await read('topics/news.yaml')).toBe(text);
  });
});

describe('diff', () => {
  it('shows what differs in meaning, and ends with 3 with --exit-code', async () => {
    await cli.run(['pull']);
    const text = (await read('topics/news.yaml')).replace('name: News', '# ours\nname: Offers');
    await write('topics/news.yaml', text);
    await write('topics/new.yaml', 'name: New\nvisibility: public\ndefault: subscribed\n');
    await make('/topics', { key: 'extra', name: 'Extra', default: 'subscribed' });
    const { exitCode, json } = await cli.run(['diff', '--exit-code']);
    expect([exitCode, json()]).toEqual([
      3,
      [
        { path: 'topics/extra.yaml', action: 'delete' },
        { path: 'topics/new.yaml', action: 'create' },
        { path: 'topics/news.yaml', action: 'update' },
      ],
    ]);
    const { stdout } = await cli.run(['diff', '--text']);
    expect(stdout).toContain('--- project/topics/news.yaml\n+++ files/topics/news.yaml\n');
    expect(stdout).toContain('-name: News\n+name: Offers\n');
    expect(stdout).not.toContain('-# ours');
    expect(stdout).toContain('--- /dev/null\n+++ files/topics/new.yaml');
  });
});

describe('the folder', () => {
  /** Starts a server that answers GET /files with these files. */
  async function serverWith(files: Record<string, string>) {
    const objects = Object.keys(files).map((path) => ({ kind: 'topic', key: 'x', path }));
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ project: { id: '1', name: 'x' }, files, objects }));
    });
    const { url } = use(await listen(server));
    return { env: { EVERPOST_URL: url } };
  }

  it.each(['../../evil', 'topics/../../evil.yaml', '/tmp/evil', 'topics/a.sh', '.git/config'])(
    'is not left by a server that names the path %s',
    async (path) => {
      const options = await serverWith({ 'topics/a.yaml': 'name: A\n', [path]: 'evil' });
      const { exitCode, stderr } = await cli.run(['pull', '--yes'], options);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('outside the layout')]);
      expect(await readdir(cli.folder)).toEqual([]);
    },
  );

  it('is not left through a symbolic link', async () => {
    const elsewhere = await useFolder();
    await symlink(elsewhere, join(cli.folder, 'topics'));
    const linked = await cli.run(['pull', '--yes']);
    expect([linked.exitCode, linked.stderr]).toEqual([1, expect.stringContaining('symbolic link')]);
    expect(await readdir(elsewhere)).toEqual([]);
    expect(await readdir(cli.folder)).toEqual(['topics']);
    const other = await useCli({ EVERPOST_URL: api.url, EVERPOST_KEY: key });
    await mkdir(join(other.folder, 'topics'));
    await writeFile(join(elsewhere, 'secret'), 'name: S');
    await symlink(join(elsewhere, 'secret'), join(other.folder, 'topics/news.yaml'));
    const read = await other.run(['diff']);
    expect([read.exitCode, read.stderr]).toEqual([2, expect.stringContaining('out of the folder')]);
  });

  it('can be named by --dir, and must hold texts in UTF-8', async () => {
    const { exitCode } = await cli.run(['pull', '--dir', 'mail']);
    expect([exitCode, await readdir(cli.folder)]).toEqual([0, ['mail']]);
    await writeFile(join(cli.folder, 'mail/topics/news.yaml'), Buffer.from([0xff, 0xfe]));
    expect((await cli.run(['diff', '--dir', 'mail'])).exitCode).toBe(2);
  });
});
