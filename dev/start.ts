import { once } from 'node:events';
import { join, relative } from 'node:path';

import { startStack, type Stack } from './stack.ts';

const ROOT = join(import.meta.dirname, '..');

process.exit(await main());

// Answers the exit code: 0 after Ctrl-C or SIGTERM, 1 when something could not be started.
async function main(): Promise<number> {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => stopping.abort());
  }
  // A terminal that was closed must not keep us from stopping in order.
  process.stdout.on('error', () => undefined);
  print('Starting Everpost …');
  try {
    const stack = await startStack({
      env: process.env,
      programs: { api: join(ROOT, 'api/main.ts'), worker: join(ROOT, 'worker/main.ts') },
      print,
      signal: stopping.signal,
    });
    print(welcome(stack));
    if (!stopping.signal.aborted) await once(stopping.signal, 'abort');
    print('Stopping …');
    await stack.stop();
    print('Stopped. Your data stays.');
    return 0;
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') return 0;
    print(`\nEverpost did not start. ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

function welcome({ facts, dataDir }: Stack): string {
  const localMail = !process.env['AWS_SES_REGION'];
  const directory = relative(process.cwd(), dataDir);
  const places: [string, string | null][] = [
    ['API', facts.apiUrl],
    ['API docs', `${facts.apiUrl}/docs`],
    ['Mailbox', localMail ? `${facts.apiUrl}/local/mailbox` : null],
    ['Temporal UI', facts.temporalUiUrl],
    ['Data, logs', directory.startsWith('..') ? dataDir : `./${directory}`],
  ];
  const rows = places.flatMap(([name, place]) => (place ? [`  ${name.padEnd(13)}${place}`] : []));
  return `
Everpost is running.

${rows.join('\n')}

Your first request makes your account and keeps the session in cookies.txt:

  curl -c cookies.txt -H 'content-type: application/json' \\
    -d '{"email":"first@example.com","password":"choose-a-long-one"}' \\
    ${facts.apiUrl}/auth/signup

"npm run demo" plays the main job. Ctrl-C stops everything; your data stays.
`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
