import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, it, vi } from 'vitest';
import { fileSchema, schemaNames } from '../../api/files/reading/json-schemas/schemas.ts';
import { useApi } from '../support/api.ts';
import { useFolder } from '../support/use.ts';

// Packs and compiles, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
let consumer: string;

beforeAll(async () => {
  consumer = await useFolder();
  const args = ['pack', '--silent', '--pack-destination', consumer];
  await run('npm', args, { cwd: join(root, 'client') });
  const [archive] = await readdir(consumer);
  await writeFile(join(consumer, 'package.json'), '{"type":"module"}');
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(consumer, archive!)];
  await run('npm', install, { cwd: consumer });
});

it('holds the compiled client, its types, the command line, the schemas, and nothing else', async () => {
  const { stdout } = await run('find', ['.', '-type', 'f'], {
    cwd: join(consumer, 'node_modules/everpost'),
  });
  expect(stdout.trim().split('\n').toSorted()).toEqual([
    './LICENSE',
    './README.md',
    './dist/api.d.ts',
    './dist/api.js',
    './dist/cli-licenses.txt',
    './dist/cli.js',
    './dist/error.d.ts',
    './dist/error.js',
    './dist/everpost.d.ts',
    './dist/everpost.js',
    ...schemaNames.map((name) => `./dist/schemas/${name}`).toSorted(),
    './package.json',
  ]);
});

it('is the version of the server, and needs no other package', async () => {
  const [own, server] = await Promise.all(
    ['client/package.json', 'package.json'].map(
      async (file) => JSON.parse(await readFile(join(root, file), 'utf8')) as object,
    ),
  );
  expect(own).toMatchObject({ name: 'everpost', version: (server as { version: string }).version });
  expect(own).not.toHaveProperty('dependencies');
});

it('has the schemas that a server of its version serves', async () => {
  for (const name of schemaNames) {
    const file = join(consumer, 'node_modules/everpost/dist/schemas', name);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(fileSchema(name));
  }
});

it('runs the command line by npx', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { stdout } = await run('npx', ['--offline', 'everpost', '--version'], { cwd: consumer });
  expect(stdout).toBe(`${version}\n`);
});

it('is imported by plain Node.js and calls the API', async () => {
  const api = await useApi();
  const { secretKey } = await api.createProject((await api.signUp()).cookie);
  const program = `
    import { Everpost, EverpostError } from 'everpost';
    const everpost = new Everpost({ apiKey: process.env.KEY, baseUrl: process.env.API });
    const { email } = await everpost.post('/contacts', { body: { email: 'ada@shop.example' } });
    const refused = await everpost.post('/contacts', { body: {} }).catch((error) => error);
    console.log(email, refused instanceof EverpostError, refused.code);
  `;
  await writeFile(join(consumer, 'main.js'), program);
  const { stdout } = await run('node', ['main.js'], {
    cwd: consumer,
    env: { ...process.env, KEY: secretKey, API: api.url },
  });
  expect(stdout.trim()).toBe('ada@shop.example true VALIDATION_ERROR');
});

it('types what each path takes and answers', async () => {
  const program = `
    import { Everpost, EverpostError, type Contact } from 'everpost';
    const everpost = new Everpost({ apiKey: 'sk_1', baseUrl: 'https://mail.example.com' });
    const body = { to: 'ada@shop.example', subject: 'Hi', body: '<p>Hi</p>' };
    const { data } = await everpost.post('/v1/send', { body, idempotencyKey: 'order-1' });
    const ids: string[] = data.emails.map((email) => email.email);
    const contacts: Contact[] = [];
    for await (const contact of everpost.list('/contacts')) contacts.push(contact);
    const gone: undefined = await everpost.delete('/contacts/{id}', { path: { id: '1' } });
    const tooMany = (error: EverpostError) => error.code === 'RATE_LIMIT_EXCEEDED';
    console.log(ids, gone, tooMany);
    // @ts-expect-error: there is no such path
    await everpost.get('/nothing');
    // @ts-expect-error: a parameter is missing
    await everpost.get('/contacts/{id}');
    // @ts-expect-error: a field is of another type
    await everpost.post('/contacts', { body: { email: 1 } });
    // @ts-expect-error: a key would not make this repeatable
    await everpost.post('/v1/verify', { body: { email: 'a@b.example' }, idempotencyKey: 'one' });
    // @ts-expect-error: not a cursor list
    everpost.list('/templates');
    // @ts-expect-error: there is no such code
    export const wrong = (error: EverpostError) => error.code === 'RATE_LIMIT';
  `;
  await writeFile(join(consumer, 'main.ts'), program);
  const lib = ['es2022', 'dom', 'dom.asynciterable'];
  const options = { module: 'nodenext', target: 'es2022', lib, strict: true, types: [] };
  await writeFile(
    join(consumer, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...options, noEmit: true }, files: ['main.ts'] }),
  );
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run('node', [compiler, '--project', consumer]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});
