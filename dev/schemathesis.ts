import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFreePort } from './servers/ports.ts';
import { findPythonTool } from './python-tool.ts';
import { startStack } from './servers/stack.ts';

/**
 * `npm run schemathesis`: requests that Schemathesis makes up from the OpenAPI document, to a
 * server and a project of their own, for a minute at most. Ends with 0 when every answer was as the
 * document says, with 1 when one was not, and with 77 when the program cannot be had.
 */

const tool = {
  name: 'schemathesis-4.32.5',
  requirement: 'schemathesis==4.32.5',
  program: 'schemathesis',
};
const root = join(import.meta.dirname, '..');

/** What automake calls a test that was left out. */
const leftOut = 77;

/**
 * How it looks. The seed is fixed, so that two runs on the same code make up the same requests. Its
 * stateful phase is left out: what that makes up depends on the answers and on the time that is left.
 */
const manner = '--seed 1 --max-time 60 --workers 2 --phases examples,coverage,fuzzing'.split(' ');

/**
 * The one check that cannot be passed: that whatever fits the schemas of the document is accepted.
 * What a request may hold also depends on what is there (a segment that is STATIC, a workflow that
 * is enabled, a token that was mailed), on other fields of it (a segment needs a condition or the
 * type STATIC) and on rules of text that no pattern says (a date that exists, a name that is not
 * blank). The other direction is checked: what does not fit is refused.
 */
const unfit = ['--exclude-checks', 'positive_data_acceptance'];

process.exit(await main());

async function main(): Promise<number> {
  const program = await findPythonTool(tool);
  if (!program) {
    print('Schemathesis was left out: it needs Python 3 with venv and pip, and PyPI.');
    return leftOut;
  }
  const folder = await mkdtemp(join(tmpdir(), 'everpost-schemathesis-'));
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => stopping.abort());
  }
  try {
    return await inStack(folder, stopping.signal, (apiUrl, key) =>
      look(program, { apiUrl, key, folder, signal: stopping.signal }),
    );
  } catch (error) {
    if (!stopping.signal.aborted) print(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs `use` with the address of a stack of its own and the secret key of a project in it. */
async function inStack(
  folder: string,
  signal: AbortSignal,
  use: (apiUrl: string, key: string) => Promise<number>,
): Promise<number> {
  const ports = await Promise.all([claimFreePort(), claimFreePort(), claimFreePort()]);
  const [api, postgres, temporal] = ports.map(({ port }) => String(port));
  await Promise.all(ports.map(({ release }) => release()));
  const lines: string[] = [];
  const stack = await startStack({
    env: {
      ...process.env,
      EVERPOST_DATA_DIR: folder,
      PORT: api,
      POSTGRES_PORT: postgres,
      TEMPORAL_PORT: temporal,
      DATABASE_URL: '',
      TEMPORAL_ADDRESS: '',
      API_URL: '',
      RATE_LIMIT_ENABLED: 'false',
      LOG_LEVEL: 'error',
    },
    programs: { api: join(root, 'api/main.ts'), worker: join(root, 'worker/main.ts') },
    print: (line) => lines.push(line),
    log: (program, line) => lines.push(`${program} | ${line}`),
    signal,
  }).catch((error: unknown) => {
    for (const line of lines) print(line);
    throw error;
  });
  try {
    const { apiUrl } = stack.facts;
    return await use(apiUrl, await createProject(apiUrl));
  } finally {
    await stack.stop();
    // What the API could not explain.
    for (const line of lines.filter((text) => text.includes('"level":50'))) print(line);
  }
}

/** Makes an account with a project. Returns its secret key. */
async function createProject(apiUrl: string): Promise<string> {
  const post = async (path: string, body: object, cookie = '') => {
    const headers = { 'Content-Type': 'application/json', Cookie: cookie };
    const answer = await fetch(apiUrl + path, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`POST ${path} answers ${answer.status}.`);
    return answer;
  };
  const account = { email: 'schemathesis@everpost.example', password: 'made up from the document' };
  const signedUp = await post('/auth/signup', account);
  const [cookie = ''] = (signedUp.headers.get('set-cookie') ?? '').split(';');
  const made = await post('/users/@me/projects', { name: 'Schemathesis' }, cookie);
  return ((await made.json()) as { secret: string }).secret;
}

/** Lets the program look. Returns 0 when it has found nothing. */
async function look(
  program: string,
  given: { apiUrl: string; key: string; folder: string; signal: AbortSignal },
): Promise<number> {
  const { apiUrl, key, folder, signal } = given;
  const header = ['--header', `Authorization: Bearer ${key}`];
  const child = spawn(
    program,
    ['run', `${apiUrl}/openapi.json`, ...header, ...manner, ...unfit, ...process.argv.slice(2)],
    {
      cwd: folder,
      stdio: ['ignore', 'inherit', 'inherit'],
      signal,
      env: { ...process.env, NO_COLOR: '1' },
    },
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code === 0 ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
