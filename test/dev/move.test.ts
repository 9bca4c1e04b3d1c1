import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { useApi } from '../support/api.ts';
import { listen, use, useFolder } from '../support/use.ts';

// Each test starts Node.js, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const api = await useApi();
const { cookie } = await api.signUp();

/** Creates a project, and runs the command with its key. */
async function useMove(text: string | Buffer, apiUrl = api.url) {
  const { secretKey } = await api.createProject(cookie);
  const file = join(await useFolder(), 'export.csv');
  await writeFile(file, text);
  const env = { ...process.env, API_URL: apiUrl, SECRET_KEY: secretKey };
  return {
    move: (platform: string, ...options: string[]) =>
      new Promise<{ code: unknown; stdout: string; stderr: string }>((done) => {
        const args = ['--import', 'tsx', 'dev/move.ts', platform, file, ...options];
        execFile('node', args, { env }, (error, stdout, stderr) =>
          done({ code: error?.code ?? 0, stdout: stdout.trim(), stderr: stderr.trim() }),
        );
      }),
    async contacts() {
      const { body } = await api.request('GET', '/contacts?sort=email', { key: secretKey });
      return body.data.map(({ email, subscribed, data }: Record<string, unknown>) => ({
        email,
        subscribed,
        data,
      }));
    },
    unsubscribe: (email: string) =>
      api.request('POST', '/contacts', { key: secretKey, body: { email, subscribed: false } }),
  };
}

const listmonk = `uuid,email,name,attributes,status,created_at,updated_at
1,Ada@shop.example,Ada,"{""city"": ""Bern"", ""tags"": [""a""], ""age"": 32}",enabled,2025-01-01 00:00:00 +0000 UTC,x
2,bo@shop.example,"Bo, the second",{},disabled,x,x
3,cleo@shop.example,Cleo,,blocklisted,x,x
`;

const fromListmonk = [
  {
    email: 'ada@shop.example',
    subscribed: true,
    data: { name: 'Ada', city: 'Bern', tags: ['a'], age: 32 },
  },
  { email: 'bo@shop.example', subscribed: false, data: { name: 'Bo, the second' } },
  { email: 'cleo@shop.example', subscribed: false, data: { name: 'Cleo' } },
];

it('moves the subscribers of Listmonk, with their attributes, and again without harm', async () => {
  const { move, contacts, unsubscribe } = await useMove(listmonk);
  expect(await move('listmonk')).toEqual({
    code: 0,
    stdout: '3 created, 0 updated, 0 refused',
    stderr: '',
  });
  expect(await contacts()).toEqual(fromListmonk);

  await unsubscribe('ada@shop.example');
  expect((await move('listmonk')).stdout).toBe('0 created, 3 updated, 0 refused');
  expect(await contacts()).toEqual([
    { ...fromListmonk[0], subscribed: false },
    ...fromListmonk.slice(1),
  ]);
});

it('moves the contacts of Plunk, with fields as they are written', async () => {
  const { move, contacts } = await useMove(
    '\ufeffid,email,subscribed,createdAt,firstName,seats,code,beta\r\n' +
      'x,ada@shop.example,true,2026-01-01,Ada,4,007,true\r\n\r\n' +
      'y,bo@shop.example,false,2026-01-01,,,,\r\n',
  );
  expect((await move('plunk')).stdout).toBe('2 created, 0 updated, 0 refused');
  expect(await contacts()).toEqual([
    {
      email: 'ada@shop.example',
      subscribed: true,
      data: { firstName: 'Ada', seats: 4, code: '007', beta: true },
    },
    { email: 'bo@shop.example', subscribed: false, data: null },
  ]);
});

it('names the lines that are refused, and moves the others', async () => {
  const { move, contacts } = await useMove(
    'email,attributes,status\nnobody,,enabled\nada@shop.example,[1],enabled\nbo@shop.example,{,enabled\n"eve@shop.example,,enabled\ncleo@shop.example,,enabled\n',
  );
  const { code, stdout, stderr } = await move('listmonk');
  expect([code, stdout]).toEqual([1, '1 created, 0 updated, 4 refused']);
  for (const line of [2, 3, 4, 5]) expect(stderr).toContain(`Line ${line}: `);
  expect(stderr).toContain('email: Must be an email address.');
  expect(await contacts()).toEqual([{ email: 'cleo@shop.example', subscribed: true, data: null }]);
});

it('shows what it would send, and sends nothing', async () => {
  const { move, contacts } = await useMove('email,plan\nada@shop.example,pro\n');
  expect(await move('plunk', '--dry-run')).toEqual({
    code: 0,
    stdout: '{"email":"ada@shop.example","data":{"plan":"pro"}}',
    stderr: '',
  });
  expect(await contacts()).toEqual([]);
});

it('waits where the API asks for it, and repeats what failed', async () => {
  const answers = [429, 503, 201];
  const server = createServer((_, response) => {
    const status = answers.shift() ?? 500;
    const headers = { 'content-type': 'application/json', 'retry-after': '1' };
    response.writeHead(status, headers).end('{"error":{"message":"Later."}}');
  });
  const { url } = use(await listen(server));
  const { move } = await useMove('email\nada@shop.example\n', url);
  expect(await move('plunk')).toEqual({
    code: 0,
    stdout: '1 created, 0 updated, 0 refused',
    stderr: '',
  });
  expect(answers).toEqual([]);
});

it('ends with a reason when nothing can be moved', async () => {
  const { move } = await useMove('address\nada@shop.example\n');
  expect(await move('plunk')).toMatchObject({
    code: 1,
    stderr:
      'The first line must name a column "email". It names address; columns are separated by commas.',
  });
  expect((await move('mailchimp')).stderr).toContain('Usage:');
  expect((await move('plunk', '--nope')).stderr).toContain("Unknown option '--nope'");

  const broken = await useMove('"email\nada@shop.example\n');
  expect(await broken.move('plunk')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('In line 1, a quotation mark opens a cell and is not closed.'),
  });
});
