import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { findPythonTool } from '../support/python-tool.ts';
import { startStack } from '../../dev/servers/stack.ts';

/**
 * `npm run schemathesis`: sends generated requests (Schemathesis, from the OpenAPI document) to a
 * server and a project of their own, for a minute at most. Exits with 0 when every response
 * conforms to the document, with 1 when one does not, and with 77 when the program is not
 * available.
 */

const tool = {
  name: 'schemathesis-4.32.5',
  requirement: 'schemathesis==4.32.5',
  program: 'schemathesis',
};
const root = join(import.meta.dirname, '../..');

/** automake's exit code for a skipped test. */
const leftOut = 77;

/**
 * The fixed seed makes two runs on the same code generate the same requests. The stateful phase is
 * left out, because its requests depend on the responses and on the remaining time.
 */
const manner = '--seed 1 --max-time 60 --workers 2 --phases examples,coverage,fuzzing'.split(' ');

/**
 * Excludes the one check that cannot pass: that every request that matches the schemas is accepted.
 * The validity of a request also depends on existing data (a segment that is STATIC, a workflow
 * that is enabled, a token that was mailed), on other fields (a segment needs a condition or the
 * type STATIC) and on text rules without a pattern (a date that exists, a name that is not blank).
 * The opposite is checked: a request that violates the schemas is refused.
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

/** Runs `use` with the URL of a separate stack and the secret key of a project in it. */
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
    // Unexpected errors in the API's log.
    for (const line of lines.filter((text) => text.includes('"level":50'))) print(line);
  }
}

/** Creates an account with a project. Returns its secret key. */
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

/** Runs the program. Returns 0 when it has found nothing. */
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
