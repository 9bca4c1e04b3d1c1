import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCampaign, insertContacts, mailBody, measured, type Round } from './campaign.ts';
import type { Benchmark } from '../measuring/benchmark.ts';
import { printCpu } from '../measuring/cpu.ts';
import { figure, median, printTable } from '../measuring/numbers.ts';
import { createProject } from '../measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { until } from '../measuring/waiting.ts';
import { type Listmonk, startListmonk } from '../reference/listmonk.ts';
import type { Arrival } from '../reference/sink.ts';

/**
 * The same newsletter by Everpost and by Listmonk, one after the other, with the same PostgreSQL
 * and mail server. Then again to fewer recipients, while the sending process is killed midway and
 * restarted. Rates are measured from the first arrival to the last, so that Listmonk's polling of
 * running campaigns does not count.
 */
export const listmonk: Benchmark = {
  summary: 'A campaign here and with Listmonk: messages per second, and what kill -9 does to both',
  options: {
    /** Directory with the sources of Listmonk and the program built there. */
    directory: '',
    recipients: '50000',
    rounds: '3',
    /** Recipients of the campaign whose sender is killed, and the number of such rounds. */
    killed: '10000',
    kills: '3',
    ...stackOptions,
  },
  async run(run) {
    if (!run.text('directory')) {
      throw new Error(
        'Say where Listmonk is: --directory=DIR, its sources with `go build -o listmonk ./cmd` done there.',
      );
    }
    const port = await freePort(run);
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      EMAIL_RATE_LIMIT_PER_SECOND: '0',
      EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
      // Minutes for which unknown outcomes wait for feedback.
      DELIVERY_SETTLE_MINUTES: '1',
    });
    const sink = await stack.startProgram('sink', 'bench/reference/sink.ts', {
      PORT: String(port),
    });
    const both = async (count: number): Promise<Mailer[]> => {
      const given = { directory: run.text('directory'), sinkPort: port, subscribers: count };
      return [listmonkMailer(await startListmonk(run, stack, given)), await everpost(stack, count)];
    };
    const recipients = run.count('recipients');
    await compareRates({ stack, sink, recipients }, await both(recipients), run.count('rounds'));
    const killed = run.count('killed');
    await compareKills({ sink, recipients: killed }, await both(killed), run.count('kills'));
  },
};

/** One of the two compared systems, with its own recipients. */
interface Mailer {
  name: string;
  /** The process that sends. */
  pid(): number;
  /** Begins to send the newsletter. Returns its campaign's id. */
  begin(): Promise<string>;
  /** Resolves when the campaign has ended by its status. */
  ended(id: string): Promise<void>;
  kill(): Promise<void>;
  /** Starts the killed process again. */
  start(): Promise<void>;
  /** Returns the recipients whose outcome the system reports as unknown. */
  unsure(id: string): Promise<Set<string>>;
}

function listmonkMailer(running: Listmonk): Mailer {
  const content = { subject: 'Hello {{ .Subscriber.Name }}', body: listmonkBody() };
  return {
    name: 'Listmonk',
    pid: () => running.pid(),
    begin: async () => String(await running.startCampaign(content)),
    ended(id) {
      const isFinished = async () => (await running.statusOf(Number(id))) === 'finished';
      return until('Listmonk to finish', isFinished, { everyMs: 50, timeoutMs: 600_000 });
    },
    kill: () => running.kill(),
    start: () => running.start(),
    unsure: () => Promise.resolve(new Set()),
  };
}

async function everpost(stack: Stack, count: number): Promise<Mailer> {
  const project = await createProject(stack.apiUrl);
  await insertContacts(stack, project, count);
  let pid = stack.pids.worker;
  return {
    name: 'Everpost',
    pid: () => pid,
    async begin() {
      const id = await createCampaign(project);
      await project.call('POST', `/campaigns/${id}/send`, {});
      return id;
    },
    ended(id) {
      const isSent = async () => {
        const { rows } = await stack.pool.query<{ status: string }>(
          'select status from campaign where id = $1',
          [id],
        );
        return rows[0]?.status === 'SENT';
      };
      return until('the campaign to be sent', isSent, { everyMs: 50, timeoutMs: 600_000 });
    },
    async kill() {
      process.kill(pid, 'SIGKILL');
      await sleep(500);
    },
    async start() {
      pid = (await stack.startProgram('worker', 'dist/worker/main.js')).pid ?? 0;
    },
    async unsure(id) {
      const { rows } = await stack.pool.query<{ to_email: string }>(
        `select to_email from email where campaign_id = $1 and error = 'delivery_unknown'`,
        [id],
      );
      return new Set(rows.map(({ to_email: to }) => to));
    },
  };
}

async function compareRates(
  { stack, sink, recipients }: { stack: Stack; sink: ChildProcess; recipients: number },
  mailers: readonly Mailer[],
  rounds: number,
): Promise<void> {
  const [theirs, ours] = mailers.map(({ name }) => ({ name, rounds: [] as Round[] }));
  if (!theirs || !ours) return;
  const pids = { ...stack.pids, listmonk: mailers[0]?.pid() ?? 0 };
  // The first round is not counted.
  for (let index = 0; index <= rounds; index++) {
    for (const [at, list] of [theirs, ours].entries()) {
      sink.send('record');
      const round = await measured(pids, recipients, () => sendAll(sink, mailers[at]!));
      const arrivals = await arrivalsAt(sink);
      const distinct = new Set(arrivals.map(({ to }) => to)).size;
      if (arrivals.length !== recipients || distinct !== recipients) {
        throw new Error(`${arrivals.length} messages to ${distinct} of ${recipients}.`);
      }
      const times = arrivals.map(({ at: time }) => time);
      const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1_000;
      if (index > 0) list.rounds.push({ ...round, perSecond: recipients / seconds });
    }
  }
  const rate = (list: readonly Round[]) => median(list.map(({ perSecond }) => perSecond));
  const ratios = ours.rounds.map(
    ({ perSecond }, index) => perSecond / (theirs.rounds[index]?.perSecond ?? 0),
  );
  console.log(
    `${recipients} recipients, ${mailBody.length} characters, 6 values, 4 links, opens told\n`,
  );
  printTable([
    ['', 'messages/s', 'ratio'],
    [theirs.name, figure(rate(theirs.rounds)), '1 ×'],
    [ours.name, figure(rate(ours.rounds)), `${figure(median(ratios))} ×`],
  ]);
  console.log('CPU of a message, milliseconds\n');
  const cpu = [theirs, ours].map(({ name, rounds: of }) => ({
    name,
    cpu: of.map((one) => one.cpu),
  }));
  printCpu(cpu, theirs.name);
}

async function sendAll(sink: ChildProcess, mailer: Mailer): Promise<void> {
  await mailer.ended(await mailer.begin());
  await untilQuiet(sink);
}

async function compareKills(
  { sink, recipients }: { sink: ChildProcess; recipients: number },
  mailers: readonly Mailer[],
  kills: number,
): Promise<void> {
  const rows: string[][] = [];
  for (let index = 0; index < kills; index++) {
    for (const mailer of mailers) {
      sink.send('record');
      const before = await counted(sink);
      const id = await mailer.begin();
      const isAtThird = async () => (await counted(sink)) - before >= recipients / 3;
      await until('a third of the messages', isAtThird, { everyMs: 5 });
      await mailer.kill();
      await untilQuiet(sink);
      await mailer.start();
      await mailer.ended(id);
      await untilQuiet(sink);
      const arrivals = await arrivalsAt(sink);
      const reached = new Set(arrivals.map(({ to }) => to));
      const unsure = await mailer.unsure(id);
      const told = [...unsure].filter((to) => !reached.has(to)).length;
      const missing = recipients - reached.size - told;
      const counts = [missing, told, unsure.size - told, arrivals.length - reached.size];
      rows.push([mailer.name, ...counts.map(String)]);
    }
  }
  console.log(`Killed at a third of ${recipients}, started again, and ended by its own account\n`);
  printTable([
    ['', 'never sent, untold', 'not sent, told as unknown', 'sent, told as unknown', 'sent twice'],
    ...rows,
  ]);
}

/** A campaign may have ended by its status while its last messages are being handed over. */
async function untilQuiet(sink: ChildProcess): Promise<void> {
  for (let before = -1; ;) {
    const now = await counted(sink);
    if (now === before) return;
    before = now;
    await sleep(2_000);
  }
}

async function counted(sink: ChildProcess): Promise<number> {
  sink.send('count');
  const [{ messages }] = (await once(sink, 'message')) as [{ messages: number }];
  return messages;
}

/**
 * Returns arrivals at the recipients. Listmonk also mails its administrator when a campaign has
 * ended.
 */
async function arrivalsAt(sink: ChildProcess): Promise<Arrival[]> {
  sink.send('arrivals');
  const [arrivals] = (await once(sink, 'message')) as [Arrival[]];
  return arrivals.filter(({ to }) => to.endsWith('@people.example'));
}

/** The body of `createCampaign` as a Listmonk template, with tracked links. */
function listmonkBody(): string {
  return mailBody
    .replaceAll('{{name ?? friend}}', '{{ .Subscriber.Attribs.name }}')
    .replaceAll('{{id}}', '{{ .Subscriber.UUID }}')
    .replaceAll(/\{\{(\w+)\}\}/g, '{{ .Subscriber.Attribs.$1 }}')
    .replaceAll(/href="(https:[^"{]+)"/g, (_, url: string) => `href="{{ TrackLink "${url}" }}"`);
}
