import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { useEngine } from '../support/engine.ts';
import { useDnsServer } from '../support/fakes/dns-server.ts';
import { useReceiver } from '../support/fakes/receiver.ts';
import { blocksOf, differenceOf, type GuideBlock, isLike } from '../support/guide.ts';
import { ensureSweep } from '../../workflows/client/schedule.ts';
import { sweepIdOf } from '../../domain/runs/runs.ts';
import { atEnd, useFolder } from '../support/use.ts';

/**
 * The README and every guide, as their readers do them, in a project of its own: each `sh` block is
 * run, one after the other in one shell, and the `json` or `text` block behind it is what it must
 * answer. The words after the language mean:
 *
 * - `file=NAME`: the block is written to a file.
 * - `until`: what it answers takes a moment; it is asked again until the answer is as shown.
 * - `needs=python`: left out where the machine does not have it.
 * - `dns`: the records that it prints (`name type value`) are published.
 * - `tab=NAME`: one of several examples that do the same. Each is run, and compared with the answer
 *   behind the last.
 * - `helpers`: of the quick start; every guide has them.
 * - `no-run`: cannot be done here.
 */

const root = join(import.meta.dirname, '../..');
/** The default address of `npm start` when the port is free. */
const usualUrl = 'http://localhost:8080';
const guides = join(root, 'docs/guides');
const receiver = await useReceiver();
const dns = await useDnsServer();
const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  DNS_SERVERS: dns.address,
  REQUEST_LOG_DAYS: '30',
});
// Guides ask for `/health/ready`, which fails without the sweep.
await ensureSweep(engine.temporal.client, engine.taskQueue);
atEnd(() => engine.temporal.client.schedule.getHandle(sweepIdOf(engine.taskQueue)).delete());
const names = [
  '../../README.md',
  ...(await readdir(guides)).filter((name) => name.endsWith('.md')),
];

/** The command that runs an example, by its language. */
const runners: Record<string, string> = {
  ts: 'node --input-type=module',
  js: 'node --input-type=module',
  python: 'python3',
};

/** Returns the shell commands of a block; null: it is not run. */
function commandsOf(block: GuideBlock): string | null {
  const { language, info, code } = block;
  if (/\bno-run\b/.test(info)) return null;
  if ((/\bneeds=python\b/.test(info) || language === 'python') && !hasPython) return null;
  if (language === 'sh') return code;
  const runner = isTab(block) ? runners[language] : undefined;
  return runner ? `${runner} << 'END'\n${code}END` : null;
}

const hasPython = (process.env['PATH'] ?? '')
  .split(':')
  .some((folder) => existsSync(join(folder, 'python3')));

const isTab = ({ info }: GuideBlock) => /\btab=/.test(info);

/** Starts a shell that keeps its variables, with a new project and domain. */
async function openShell() {
  const folder = await useFolder();
  const { cookie } = await engine.api.signUp();
  const [name, value] = cookie.split('=', 2);
  // The format of curl: host, subdomains, path, secure, expiry, name and value.
  const { hostname } = new URL(engine.api.url);
  const jar = [hostname, 'FALSE', '/', 'FALSE', '0', name, value].join('\t');
  await writeFile(join(folder, 'cookies.txt'), `${jar}\n`);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const project = await engine.api.createProject(cookie);
  const { port, release } = await claimFreePort();
  atEnd(release);
  const domain = `${randomUUID()}.test`;
  await engine.api.request('POST', '/domains', { key: project.secretKey, body: { domain } });
  const shell = spawn('bash', [], {
    cwd: folder,
    env: {
      ...process.env,
      API: engine.api.url,
      SECRET_KEY: project.secretKey,
      PUBLIC_KEY: project.publicKey,
      DOMAIN: domain,
      RECEIVER: receiver.url,
      ROOT: root,
      PORT: String(port),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group, so that programs which a guide left running end with the shell.
    detached: true,
  });
  atEnd(() => {
    if (shell.pid && shell.exitCode === null) process.kill(-shell.pid);
  });
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  let errors = '';
  shell.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const end = `end-of-block-${process.pid}`;
  return {
    folder,
    /** Runs the commands. Returns their output, and the error output if the last one fails. */
    async run({ code, line }: GuideBlock): Promise<{ answered: string; fault: string | null }> {
      errors = '';
      shell.stdin.write(`${code}\nprintf '\\n%s %s\\n' ${end} $?\n`);
      const printed: string[] = [];
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`Line ${line}: the shell has ended. ${errors}`);
        if (value.startsWith(end)) {
          const answered = printed.join('\n').trim();
          const fault = value === `${end} 0` ? null : `failed: ${answered}\n${errors}`;
          return { answered, fault };
        }
        printed.push(value);
      }
    },
  };
}

/** Returns the difference between the answer and the guide; null: none. */
function differenceFrom(shown: GuideBlock, answered: string): string | null {
  if (shown.language === 'json') {
    try {
      return differenceOf(JSON.parse(shown.code), JSON.parse(answered));
    } catch (error) {
      return `${String(error)}: ${answered}`;
    }
  }
  return isLike(shown.code.trim(), answered) ? null : `answered: ${answered}`;
}

const isAnswer = ({ language, info }: GuideBlock) =>
  (language === 'json' || language === 'text') && !/\bfile=/.test(info);

/** Publishes the printed DNS records, one a line. */
function publish(records: string): void {
  for (const record of records.split('\n')) {
    const [, name = '', type = '', value = ''] = /^(\S+) +(\w+) +(.+)$/.exec(record) ?? [];
    if (type === 'CNAME') dns.publish(name, type, value);
    else if (type === 'TXT') dns.publish(name, type, value);
    else if (type === 'MX') {
      const [preference, exchange = ''] = value.split(' ');
      dns.publish(name, type, { preference: Number(preference), exchange });
    } else throw new Error(`This is no record that can be published: ${record}`);
  }
}

type Shell = Awaited<ReturnType<typeof openShell>>;

/** Runs a block of a guide; `shown` is what it must answer, if the guide says so. */
async function follow(shell: Shell, block: GuideBlock, shown: GuideBlock | null): Promise<void> {
  const ask = async () => {
    const { answered, fault } = await shell.run(block);
    if (/\bdns\b/.test(block.info)) publish(answered);
    return fault ?? (shown && differenceFrom(shown, answered));
  };
  const patience = Date.now() + (/\buntil\b/.test(block.info) ? 30_000 : 0);
  let difference = await ask();
  while (difference !== null && Date.now() < patience) {
    await sleep(250);
    difference = await ask();
  }
  const at = `line ${(shown ?? block).line}`;
  expect([at, difference]).toEqual([at, null]);
}

const helpers = blocksOf(await readFile(join(guides, 'quick-start.md'), 'utf8')).filter(
  ({ info }) => info === 'helpers',
);

describe.each(names)('%s', (name) => {
  it('does what it says', { timeout: 240_000 }, async () => {
    const text = await readFile(join(guides, name), 'utf8');
    const blocks = blocksOf(text.replaceAll(usualUrl, engine.api.url));
    const shell = await openShell();
    for (const block of helpers) await follow(shell, block, null);
    for (const [at, block] of blocks.entries()) {
      const file = /\bfile=(\S+)/.exec(block.info)?.[1];
      const code = commandsOf(block);
      const next = blocks.slice(at + 1).find((other) => !isTab(block) || !isTab(other));
      if (file) await writeFile(join(shell.folder, file), block.code);
      else if (code !== null) {
        await follow(shell, { ...block, code }, next && isAnswer(next) ? next : null);
      }
    }
  });

  it('shows no answer that nothing is compared with', async () => {
    const blocks = blocksOf(await readFile(join(guides, name), 'utf8'));
    const isRun = (block: GuideBlock | undefined) =>
      block !== undefined && (block.language === 'sh' || isTab(block));
    const lonely = blocks.filter(
      (block, at) => isAnswer(block) && !/\bno-run\b/.test(block.info) && !isRun(blocks[at - 1]),
    );
    expect(lonely.map(({ line }) => line)).toEqual([]);
  });

  it('leads to pages that are there', async () => {
    const text = await readFile(join(guides, name), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g)].map(([, link]) => link ?? '');
    for (const link of links)
      expect([link, existsSync(join(guides, name, '..', link))]).toEqual([link, true]);
  });
});

it('sends the mails of the README', async () => {
  const [first] = await engine.mailsTo('joan@shop.example', 1);
  const [welcome] = await engine.mailsTo('mary@shop.example', 1);
  expect([first?.subject, welcome?.subject]).toEqual(['Hi there', 'Welcome, Mary']);
});
