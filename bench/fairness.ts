import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, BenchmarkRun } from './measuring/benchmark.ts';
import { createCampaign, insertContacts } from './mail/campaign.ts';
import { figure, median, percentile, printTable } from './measuring/numbers.ts';
import { createProject, createWorkflow, type Project } from './measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from './measuring/stack.ts';
import { until } from './measuring/waiting.ts';

/**
 * Delays of one project's mail while another project keeps the workers busy, compared with an idle
 * system. Measures a single mail beside a campaign at full speed, and the mail of a workflow beside
 * webhooks that hang and beside the executions of a bulk action.
 */
export const fairness: Benchmark = {
  summary: "A mail's delay beside what another project does, against an idle system",
  options: {
    recipients: '100000',
    mails: '40',
    /** Milliseconds between the mails. */
    pause: '250',
    /** Webhooks whose receivers never answer. */
    hanging: '200',
    /** Contacts that are subscribed by the bulk action; each starts an execution. */
    bulk: '1500',
    /** Messages per second of the whole server; 0: no limit. */
    rate: '0',
    ...stackOptions,
  },
  async run(run) {
    const port = await freePort(run);
    const rate = String(run.count('rate', 0));
    const stack = await startStack(run, {
      SMTP_HOST: '127.0.0.1',
      SMTP_PORT: String(port),
      EMAIL_RATE_LIMIT_PER_SECOND: rate,
      EMAIL_RATE_PER_PROJECT_PER_SECOND: rate,
      WEBHOOK_ALLOW_PRIVATE: 'true',
    });
    await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
    const small = await createProject(stack.apiUrl);
    await createWorkflow(small, 'signed_up', ['SEND_EMAIL']);
    const given = { mails: run.count('mails'), pauseMs: run.count('pause') };
    const mails = () => sendDelays(stack, small, given);
    const journeys = () => trackDelays(stack, small, given);
    // The first mails compile code and open connections, so they are not counted.
    await sendDelays(stack, small, { ...given, mails: 10 });
    await trackDelays(stack, small, { ...given, mails: 10 });

    const idle = { mail: await mails(), journey: await journeys() };
    const hanging = await besideHanging(run, stack, journeys);
    const bulk = await besideBulk(run, stack, journeys);
    const campaign = await besideCampaign(run, stack, mails);
    const row = (name: string, ms: readonly number[], idleMs: readonly number[]) => [
      name,
      figure(median(ms)),
      figure(percentile(ms, 0.95)),
      figure(percentile(ms, 1)),
      `${figure(median(ms) / median(idleMs))} ×`,
      `${figure(percentile(ms, 0.95) / percentile(idleMs, 0.95))} ×`,
    ];
    printTable([
      ['milliseconds', 'p50', 'p95', 'most', 'p50 to idle', 'p95 to idle'],
      row('single mail, idle', idle.mail, idle.mail),
      row('beside a campaign', campaign, idle.mail),
      row("a workflow's mail, idle", idle.journey, idle.journey),
      row('beside webhooks that hang', hanging, idle.journey),
      row('beside a bulk subscribe', bulk, idle.journey),
    ]);
  },
};

/** Measures while all slots for webhooks hang, and more webhooks wait. */
async function besideHanging(
  run: BenchmarkRun,
  stack: Stack,
  measure: () => Promise<number[]>,
): Promise<number[]> {
  let asked = 0;
  const receiver = createServer(() => (asked += 1));
  const port = await freePort(run);
  receiver.listen(port, '127.0.0.1');
  await once(receiver, 'listening');
  run.defer(async () => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const project = await createProject(stack.apiUrl);
  const workflow = await project.call('POST', '/workflows', { name: 'Hangs', eventName: 'hang' });
  const url = `http://127.0.0.1:${port}/`;
  const step = { type: 'WEBHOOK', name: 'Call', config: { url } };
  await project.call('POST', `/workflows/${workflow.id}/steps`, step);
  await project.call('PATCH', `/workflows/${workflow.id}`, { enabled: true });
  const count = run.count('hanging');
  for (let index = 0; index < count; index += 1) {
    await project.call('POST', '/v1/track', {
      event: 'hang',
      email: `hang-${index}@bench.example`,
    });
  }
  await until('webhooks that hang', async () => asked > 0, { timeoutMs: 60_000 });
  const delays = await measure();
  console.log(`${asked} of ${count} webhooks had been called when the last mail had left.`);
  await project.call('POST', `/workflows/${workflow.id}/executions/cancel-all`);
  return delays;
}

/** Measures while a bulk action starts very many executions that send a mail. */
async function besideBulk(
  run: BenchmarkRun,
  stack: Stack,
  measure: () => Promise<number[]>,
): Promise<number[]> {
  const project = await createProject(stack.apiUrl);
  const count = run.count('bulk');
  await insertContacts(stack, project, count);
  await stack.pool.query('update contact set subscribed = false where project_id = $1', [
    project.id,
  ]);
  await createWorkflow(project, 'contact.subscribed', ['SEND_EMAIL']);
  await project.call('POST', '/contacts/bulk-subscribe', { mode: 'query', filter: {} });
  const executions = async () => {
    const { rows } = await stack.pool.query<{ all: number; done: number }>(
      `select count(*)::int as all, count(completed_at)::int as done from execution
        where project_id = $1`,
      [project.id],
    );
    return rows[0] ?? { all: 0, done: 0 };
  };
  await until('the first executions', async () => (await executions()).all > 0, {
    timeoutMs: 60_000,
  });
  const delays = await measure();
  const { all, done } = await executions();
  console.log(`${done} of ${all} executions of the bulk action were over by then.`);
  return delays;
}

/** Measures while a campaign is sent. */
async function besideCampaign(
  run: BenchmarkRun,
  stack: Stack,
  measure: () => Promise<number[]>,
): Promise<number[]> {
  const project = await createProject(stack.apiUrl);
  await insertContacts(stack, project, run.count('recipients'));
  const id = await createCampaign(project);
  await project.call('POST', `/campaigns/${id}/send`, {});
  await sleep(2_000);
  const delays = await measure();
  const { rows } = await stack.pool.query<{ status: string; sent_count: number }>(
    'select status, sent_count from campaign where id = $1',
    [id],
  );
  const [{ status, sent_count: sent } = { status: 'gone', sent_count: 0 }] = rows;
  console.log(`The campaign was ${status} by then: ${sent} sent.\n`);
  return delays;
}

/** The number of mails, and the pause after each. */
interface Pace {
  mails: number;
  pauseMs: number;
}

/** Sends single mails. Returns for each the milliseconds until the provider had it. */
function sendDelays(stack: Stack, project: Project, pace: Pace): Promise<number[]> {
  const mail = { from: project.sender, subject: 'Your code', body: '<p>1234</p>' };
  return delaysOf(stack, project, pace, {
    ask: (index) =>
      project.call('POST', '/v1/send', { ...mail, to: `single-${index}@bench.example` }),
    question: `select (extract(epoch from sent_at - created_at) * 1000)::float8 as ms from email
      where project_id = $1 and created_at >= $2 and sent_at is not null`,
  });
}

/** Records events that send a mail. Returns for each the milliseconds until the provider had it. */
function trackDelays(stack: Stack, project: Project, pace: Pace): Promise<number[]> {
  return delaysOf(stack, project, pace, {
    ask: (index, since) => {
      const email = `${since.getTime()}-${index}@bench.example`;
      return project.call('POST', '/v1/track', { event: 'signed_up', email });
    },
    question: `select (extract(epoch from email.sent_at - event.created_at) * 1000)::float8 as ms
      from event join email on email.contact_id = event.contact_id
      where event.project_id = $1 and event.created_at >= $2 and event.name = 'signed_up'
        and email.sent_at is not null`,
  });
}

/**
 * Requests mails one after the other. Returns the milliseconds in the rows of `question`, once it
 * has a row for each mail. The parameters of `question` are the project and the time of the first
 * request.
 */
async function delaysOf(
  { pool }: Stack,
  project: Project,
  { mails, pauseMs }: Pace,
  { ask, question }: { ask: (index: number, since: Date) => Promise<unknown>; question: string },
): Promise<number[]> {
  const since = new Date();
  for (let index = 0; index < mails; index++) {
    await ask(index, since);
    await sleep(pauseMs);
  }
  for (;;) {
    const { rows } = await pool.query<{ ms: number }>(question, [project.id, since]);
    if (rows.length === mails) return rows.map(({ ms }) => ms);
    await sleep(100);
  }
}
