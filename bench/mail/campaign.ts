import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { BareLoad } from '../reference/bare-mailer.ts';
import type { Benchmark } from '../measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from '../measuring/cpu.ts';
import { type Written, keepLog, markLog, printWritten, readLog } from '../measuring/ledger.ts';
import { figure, median, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { until } from '../measuring/waiting.ts';

/**
 * Messages of a campaign per second, from the request to send it until it is SENT. Compared with a
 * loop that creates and hands over the same messages without recording them.
 */
export const campaign: Benchmark = {
  summary: 'Messages of a campaign per second, against a loop that only makes and sends them',
  options: {
    recipients: '20000',
    rounds: '3',
    /** Rounds that are not counted, before those that are. */
    warmup: '1',
    /** True: also measures what PostgreSQL writes for a message. */
    ledger: false,
    ...stackOptions,
  },
  async run(run) {
    const port = await freePort(run);
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      EMAIL_RATE_LIMIT_PER_SECOND: '0',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
    });
    const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', {
      PORT: String(port),
    });
    const bare = await stack.startProgram('bare-mailer', 'bench/reference/bare-mailer.ts');
    const project = await createProject(stack.apiUrl);
    const recipients = run.count('recipients');
    await insertContacts(stack, project, recipients);
    const pids = { ...stack.pids, sink: sink.pid ?? 0, bare: bare.pid ?? 0 };
    console.log(`${recipients} recipients, ${mailBody.length} characters, 6 values, 4 links\n`);

    const hasLedger = run.has('ledger');
    if (hasLedger) await keepLog(stack.pool);
    const written: Written[] = [];
    const rounds: Round[] = [];
    const bareRounds: Round[] = [];
    const warmup = run.count('warmup', 0);
    for (let index = 0; index < warmup + run.count('rounds'); index++) {
      const mark = hasLedger ? await markLog(stack.pool) : null;
      const round = await measured(pids, recipients, () => send(stack, project, sink, recipients));
      if (mark && index >= warmup) written.push(await readLog(stack.pool, mark, recipients));
      const load = { campaignId: round.answer, projectId: project.id, recipients };
      const bareRound = await measured(pids, recipients, () => sendBare(bare, load));
      if (index < warmup) continue;
      rounds.push(round);
      bareRounds.push(bareRound);
    }
    print(rounds, bareRounds, await peakMegabytes(pids.worker));
    if (hasLedger) {
      console.log('Written by PostgreSQL for a message\n');
      printWritten(written.map((one, index) => ({ name: `round ${index + 1}`, written: one })));
    }
  },
};

export interface Round {
  perSecond: number;
  cpu: CpuSeconds;
}

export async function measured<T>(
  pids: Readonly<Record<string, number>>,
  recipients: number,
  work: () => Promise<T>,
): Promise<Round & { answer: T }> {
  const before = await readCpu(pids);
  const startedAt = performance.now();
  const answer = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const cpu = cpuBetween(before, await readCpu(pids), recipients);
  return { answer, perSecond: recipients / seconds, cpu };
}

/**
 * Sends a campaign to all contacts. Returns its id.
 * @throws Error unless `recipients` messages have arrived
 */
export async function send(
  stack: Stack,
  project: Project,
  sink: ChildProcess,
  recipients: number,
): Promise<string> {
  const before = await sunk(sink);
  const id = await createCampaign(project);
  await project.call('POST', `/campaigns/${id}/send`, {});
  const isSent = async () => {
    const { rows } = await stack.pool.query<{ status: string; sent_count: number }>(
      'select status, sent_count from campaign where id = $1',
      [id],
    );
    const [row] = rows;
    if (row?.status !== 'SENT') return false;
    if (row.sent_count === recipients) return true;
    throw new Error(`${row.sent_count} of ${recipients} messages were sent.`);
  };
  // Waits at most five minutes, and one more second for each thousand recipients.
  await until('the campaign to be sent', isSent, { timeoutMs: 300_000 + recipients });
  const after = await sunk(sink);
  if (after - before !== recipients) throw new Error(`${after - before} messages have arrived.`);
  return id;
}

/** Creates a newsletter to all contacts. Returns its id. */
export async function createCampaign(project: Project): Promise<string> {
  const { data } = await project.call('POST', '/campaigns', {
    name: 'Bench',
    subject: 'Hello {{name ?? you}}',
    body: mailBody,
    from: project.sender,
    audienceType: 'ALL',
  });
  return (data as { id: string }).id;
}

async function sunk(sink: ChildProcess): Promise<number> {
  sink.send('count');
  const [{ messages }] = (await once(sink, 'message')) as [{ messages: number }];
  return messages;
}

async function sendBare(bare: ChildProcess, load: BareLoad): Promise<string> {
  bare.send(load);
  await once(bare, 'message');
  return load.campaignId;
}

/** Inserts subscribed contacts with six fields each. */
export async function insertContacts(
  { pool }: Stack,
  project: Project,
  count: number,
): Promise<void> {
  await pool.query(
    `insert into contact (project_id, email, subscribed, data)
      select $1, 'no-' || n || '@people.example', true, jsonb_build_object('name', 'No. ' || n,
          'city', 'Utrecht', 'plan', 'pro', 'points', n, 'since', '2024-05-01', 'shop', 'Centre')
        from generate_series(1, $2::int) n`,
    [project.id, count],
  );
  await pool.query('analyze contact');
}

/** Returns the highest memory of a process, in megabytes; null without /proc. */
async function peakMegabytes(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /VmHWM:\s+(\d+)/.exec(status)?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) / 1024;
}

function print(rounds: readonly Round[], bare: readonly Round[], peak: number | null): void {
  const rate = (list: readonly Round[]) => median(list.map(({ perSecond }) => perSecond));
  const ratios = rounds.map((round, index) => round.perSecond / (bare[index]?.perSecond ?? 0));
  printTable([
    ['', 'messages/s', 'ratio'],
    ['bare loop', figure(rate(bare)), '1 ×'],
    ['campaign', figure(rate(rounds)), `${figure(median(ratios))} ×`],
  ]);
  console.log('CPU of a message, milliseconds\n');
  printCpu(
    [
      { name: 'bare loop', cpu: bare.map(({ cpu }) => cpu) },
      { name: 'campaign', cpu: rounds.map(({ cpu }) => cpu) },
    ],
    'bare loop',
  );
  console.log(`Peak memory of the worker: ${peak === null ? '–' : `${figure(peak)} MB`}\n`);
}

const paragraph =
  '<p style="margin:0 0 16px;font-size:16px;line-height:24px;color:#222222;">' +
  'Spring has come, and with it everything that is new in our shop: chairs for the garden, ' +
  'lamps for long evenings, and a table large enough for all of your friends. Come and see.</p>\n';

/** A newsletter of about 7 KB. */
export const mailBody =
  '<h1>Hello {{name ?? friend}}</h1>\n' +
  '<p>You are on plan {{plan}} since {{since}} and have {{points}} points in {{city}}.</p>\n' +
  paragraph.repeat(10) +
  '<p><a href="https://shop.example/chairs?utm_source=mail">Chairs</a></p>\n' +
  paragraph.repeat(10) +
  '<p><a href="https://shop.example/lamps?utm_source=mail">Lamps</a></p>\n' +
  '<p><a href="https://shop.example/me?id={{id}}">Your account at {{shop}}</a></p>\n' +
  paragraph.repeat(5) +
  '<p><a href="https://shop.example/tables">Tables</a></p>\n';
