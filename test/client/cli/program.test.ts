import { execFile } from 'node:child_process';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commands } from '../../../client/cli/commands.ts';
import { type TestApi, useApi } from '../../support/api.ts';
import { type Cli, useCli } from '../../support/cli.ts';
import { listen, use } from '../../support/use.ts';

const root = join(import.meta.dirname, '../../..');
let api: TestApi;
let cli: Cli;
let secretKey: string;
let env: Record<string, string>;

beforeAll(async () => {
  api = await useApi();
  ({ secretKey } = await api.createProject((await api.signUp()).cookie));
  env = { EVERPOST_URL: api.url, EVERPOST_KEY: secretKey };
});

beforeEach(async () => {
  cli = await useCli();
});

/** Starts a server that gives one answer to all requests, and records them. */
async function serverWith(
  status: number,
  body: object | string,
  headers: Record<string, string> = {},
) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  return { ...use(await listen(server)), requests };
}

describe('the command line', () => {
  it('shows its help and its version', async () => {
    const { version } = JSON.parse(await readFile(join(root, 'client/package.json'), 'utf8')) as {
      version: string;
    };
    expect(await cli.run(['--version'])).toMatchObject({ exitCode: 0, stdout: `${version}\n` });
    for (const words of [[], ['--help'], ['help']]) {
      const { exitCode, stdout } = await cli.run(words);
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining('Commands')]);
    }
  });

  it('shows the help of each command, without credentials', async () => {
    for (const { name, summary } of commands) {
      const { exitCode, stdout } = await cli.run([name, '--help']);
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining(summary)]);
    }
  });

  it('names the command that was probably meant', async () => {
    const { exitCode, stderr, stdout } = await cli.run(['trakc']);
    expect([exitCode, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Did you mean track?');
  });

  it('runs in a checkout, and uses the folder in which it was called', async () => {
    await writeFile(
      join(cli.folder, 'everpost.yaml'),
      'profiles: {here: {url: https://x.example}}',
    );
    const args = ['--prefix', root, 'run', '-s', 'everpost', '--', 'profiles'];
    const { stdout } = await promisify(execFile)('npm', args, {
      cwd: cli.folder,
      env: { ...process.env, INIT_CWD: undefined, XDG_CONFIG_HOME: cli.folder },
    });
    expect(JSON.parse(stdout)).toEqual([{ name: 'here', url: 'https://x.example', hasKey: false }]);
  });

  it('ends with 2 without a key, 5 with a wrong one, and 4 without an answer', async () => {
    const words = ['track', 'ada@shop.example', 'paid'];
    expect((await cli.run(words)).exitCode).toBe(2);
    expect((await cli.run(words, { env: { ...env, EVERPOST_KEY: 'sk_wrong' } })).exitCode).toBe(5);
    const closed = await serverWith(200, {});
    await closed.close();
    const { exitCode, stderr } = await cli.run([...words, '--json'], {
      env: { ...env, EVERPOST_URL: closed.url },
    });
    expect(exitCode).toBe(4);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'CONNECTION_FAILED', status: null, requestId: null, errors: [] },
    });
  });

  it('ends with 4 when a website answers instead of Everpost', async () => {
    const { url } = await serverWith(200, '<html>Hello</html>', { 'content-type': 'text/html' });
    const options = { env: { ...env, EVERPOST_URL: url } };
    const login = ['login', '--url', `${url}/console`, '--key-stdin'];
    for (const words of [login, ['pull'], ['plan', '--text'], ['logs']]) {
      const { exitCode, stdout, stderr } = await cli.run(words, { ...options, stdin: secretKey });
      const text = expect.stringContaining('The response (200) is not one of Everpost.') as string;
      expect([words[0], exitCode, stdout, stderr]).toEqual([words[0], 4, '', text]);
    }
    expect((await cli.run(['profiles'])).json()).toEqual([]);
  });

  it('does not follow a redirect with the key', async () => {
    const other = await serverWith(200, {});
    const { url } = await serverWith(307, {}, { location: `${other.url}/v1/track` });
    const words = ['track', 'ada@shop.example', 'paid'];
    const { exitCode } = await cli.run(words, { env: { ...env, EVERPOST_URL: url } });
    expect([exitCode, other.requests]).toEqual([1, []]);
  });

  it('escapes control characters in what a server answers', async () => {
    const error = { code: 'CONFLICT', message: 'No \u001b[31mway\u001b[0m', statusCode: 409 };
    const { url } = await serverWith(409, { success: false, error });
    const words = ['track', 'ada@shop.example', 'paid'];
    const { exitCode, stderr } = await cli.run(words, { env: { ...env, EVERPOST_URL: url } });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('No \\x1b[31mway\\x1b[0m')]);
    expect(stderr).not.toContain('\u001b');
  });
});

describe('login', () => {
  const words = () => ['login', '--profile', 'shop', '--url', api.url, '--key-stdin'];

  it('stores a key that works, in a file that only its user reads', async () => {
    const { exitCode, stdout, stderr } = await cli.run(words(), { stdin: `${secretKey}\n` });
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).not.toContain(secretKey);
    expect((await stat(cli.stored)).mode & 0o777).toBe(0o600);
    const listed = await cli.run(['profiles']);
    expect(listed.json()).toEqual([{ name: 'shop', url: api.url, hasKey: true }]);
    const tracked = await cli.run(['track', 'ada@shop.example', 'paid', '--profile', 'shop']);
    expect(tracked.exitCode).toBe(0);
    expect((await cli.run(['logout', '--profile', 'shop'])).json()).toMatchObject({
      removed: true,
    });
    expect((await cli.run(['profiles'])).json()).toEqual([]);
  });

  it('ends with 2 where the key cannot be stored', async () => {
    await symlink('/none/none', join(cli.folder, 'everpost'));
    const options = { stdin: secretKey, env: { XDG_CONFIG_HOME: cli.folder } };
    const { exitCode, stderr } = await cli.run([...words(), '--json'], options);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'UNREADABLE_FILE' } });
  });

  it('stores no key that is refused', async () => {
    expect((await cli.run(words(), { stdin: 'sk_wrong' })).exitCode).toBe(5);
    expect((await cli.run(words(), { stdin: 'pk_public' })).exitCode).toBe(2);
    expect((await cli.run(['profiles'])).json()).toEqual([]);
  });

  it('shows no key that is given in the wrong place', async () => {
    for (const wrong of [['login', secretKey], [secretKey], ['login', '--url', secretKey]]) {
      const { exitCode, stdout, stderr } = await cli.run(wrong);
      expect([exitCode, stdout]).toEqual([2, '']);
      expect(stderr).not.toContain(secretKey);
    }
  });

  it('asks nothing without a terminal', async () => {
    const { exitCode, stderr } = await cli.run(['login', '--url', api.url, '--json']);
    expect(exitCode).toBe(2);
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
    expect(error).toMatchObject({ code: 'WRONG_CALL' });
    expect(error.message).toContain('--key-stdin');
  });

  it('sends a key from stdin only to a server that the command names', async () => {
    const evil = await serverWith(200, { name: 'Key' });
    await writeFile(join(cli.folder, 'everpost.yaml'), `profiles: {shop: {url: "${evil.url}"}}`);
    const unnamed = ['login', '--profile', 'shop', '--key-stdin'];
    const { exitCode, stderr } = await cli.run(unnamed, { stdin: secretKey });
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--key-stdin needs --url')]);
    expect(evil.requests).toEqual([]);
  });

  it('keeps the key from another url in everpost.yaml', async () => {
    await cli.run(words(), { stdin: secretKey });
    const evil = await serverWith(200, {});
    await writeFile(join(cli.folder, 'everpost.yaml'), `profiles: {shop: {url: "${evil.url}"}}`);
    const track = ['track', 'ada@shop.example', 'paid', '--profile', 'shop'];
    expect((await cli.run(track)).exitCode).toBe(2);
    expect(evil.requests).toEqual([]);
  });
});

describe('completion', () => {
  it('offers commands, options, profiles and the keys of the files in bash', async () => {
    await cli.run(['login', '--profile', 'shop', '--url', api.url, '--key-stdin'], {
      stdin: secretKey,
    });
    await mkdir(join(cli.folder, 'templates'));
    await mkdir(join(cli.folder, 'workflows'));
    await writeFile(join(cli.folder, 'workflows/onboarding.yaml'), '');
    await writeFile(join(cli.folder, 'templates/receipt.html'), '');
    await writeFile(
      join(cli.folder, 'everpost.yaml'),
      'profiles: {live: {url: https://x.example}}',
    );
    const program = `
      everpost() { ${process.execPath} ${join(root, 'client/dist/cli.js')} "$@"; }
      eval "$(everpost completion bash)"
      complete -p everpost
      complete_words() {
        COMP_WORDS=(everpost "$@"); COMP_CWORD=$#; _everpost; echo "\${COMPREPLY[*]}"
      }
      complete_words lo
      complete_words track --idem
      complete_words logs --profile ''
      complete_words send --template re
      complete_words replay ''
      complete_words test --reporter j
      complete_words plan --prune = te
      complete_words logs --profile =
      complete_words track ada@x.test paid order = 5 --profile = s
    `;
    const { stdout } = await promisify(execFile)('bash', ['-c', program], {
      cwd: cli.folder,
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: join(cli.stored, '../..') },
    });
    expect(stdout.split('\n')).toEqual([
      'complete -o default -F _everpost everpost',
      expect.stringContaining('login logout'),
      '--idempotency-key',
      'live shop',
      'receipt',
      'onboarding',
      'json junit',
      'template/* template/receipt',
      'live shop',
      'shop',
      '',
    ]);
    for (const shell of ['zsh', 'fish']) {
      expect((await cli.run(['completion', shell])).stdout).toContain('everpost completion');
    }
    expect((await cli.run(['completion', 'bahs'])).stderr).toContain('Did you mean bash?');
  });
});

describe('send and track', () => {
  it('send a mail with a body, or with a template by its key, once', async () => {
    const domain = 'shop.example';
    const key = { key: secretKey };
    await api.request('POST', '/domains', { ...key, body: { domain } });
    const template = { name: 'Receipt', subject: 'Hi {{name}}', body: '<p>{{total}}</p>' };
    await api.request('POST', '/templates', {
      ...key,
      body: { ...template, type: 'TRANSACTIONAL', from: `shop@${domain}` },
    });
    const to = ['--to', 'ada@shop.example'];
    const plain = ['--subject', 'Hi', '--body', '<p>Hi</p>', '--from', `shop@${domain}`];
    const once = ['--idempotency-key', 'one'];
    const first = await cli.run(['send', ...to, ...plain, ...once], { env });
    const again = await cli.run(['send', ...to, ...plain, ...once], { env });
    expect([first.exitCode, again.json()]).toEqual([0, first.json()]);
    const data = ['--data', 'name=Ada', '--data', 'total=42'];
    const sent = await cli.run(['send', ...to, '--template', 'receipt', ...data], { env });
    const [{ email }] = sent.json().data.emails;
    const { body } = await api.request('GET', `/emails/${email}`, key);
    expect([body.subject, body.body]).toEqual(['Hi Ada', expect.stringContaining('42')]);
    const missing = await cli.run(['send', ...to, '--template', 'nope'], { env });
    expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining('"nope"')]);
  });

  it('record an event with numbers, booleans and JSON as such', async () => {
    const values = ['total=5', 'paid=true', 'items=["a"]', 'date=2026-01-02', 'name=Ada L.'];
    const tracked = await cli.run(['track', 'grace@shop.example', 'ordered', ...values], { env });
    expect(tracked.exitCode).toBe(0);
    const { body } = await api.request('GET', '/events?eventName=ordered', { key: secretKey });
    expect(body.events[0].data).toEqual({
      total: 5,
      paid: true,
      items: ['a'],
      date: '2026-01-02',
      name: 'Ada L.',
    });
  });

  it('say all mistakes of a refused request', async () => {
    const words = ['send', '--to', 'ada', '--subject', 'x', '--body', 'y', '--json'];
    const { exitCode, stderr } = await cli.run(words, { env });
    expect(exitCode).toBe(1);
    const { error } = JSON.parse(stderr) as { error: { errors: { field: string }[] } };
    expect(error.errors.map(({ field }) => field)).toContain('from');
  });
});
