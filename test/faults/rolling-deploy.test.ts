import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, inject, it } from 'vitest';
import { openDatabase } from '../../db/database.ts';
import { migrateToLatest, schemaState } from '../../db/migrate.ts';
import { claimFreePort } from '../../dev/servers/ports.ts';
import { end as stopProcess, launch } from '../../dev/servers/processes.ts';
import { cookieOf, type TestAnswer } from '../support/api.ts';
import type { Engine } from '../support/engine.ts';
import { useCountingSink } from '../support/fakes/counting-sink.ts';
import { createTemplate, createWorkflow } from '../support/histories/executions.ts';
import { root } from '../support/processes/npm-start.ts';
import { type Program, startProgram } from '../support/processes/processes.ts';
import { useNextBuild } from '../support/processes/next-build.ts';
import { databaseAt, execute, temporalAddress } from '../support/servers.ts';
import { createCampaign } from '../support/projects/campaigns.ts';
import { newAddress } from '../support/projects/shop.ts';
import { atEnd, use } from '../support/use.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Two builds, one with a larger schema, share one database and one Temporal while requests
 * arrive and mail is sent: first the update, then the rollback. No request fails, and no mail is
 * lost or sent twice.
 */

type Part = 'api' | 'worker';
type Version = 'old' | 'new';
type Call = Engine['call'];

const next = await useNextBuild();
const folders: Record<Version, string> = { old: root, new: next };
const sink = await useCountingSink();

/** Creates an empty database with the schema of this build. */
async function useOldDatabase() {
  const url = await useEmptyDatabase();
  await migrateToLatest(url);
  return { url, ...use(openDatabase(url, { poolMax: 2 })) };
}

async function useEmptyDatabase(): Promise<string> {
  const name = `rolling_${randomUUID().replaceAll('-', '')}`;
  await execute(inject('databaseUrl'), `create database ${name} template template0`);
  atEnd(() => execute(inject('databaseUrl'), `drop database ${name} with (force)`));
  return databaseAt(inject('databaseUrl'), name);
}

const secret = 'a secret of thirty-two characters or more';
const database = await useOldDatabase();
const recipients = 1_000;
const rate = '100';

/** Started programs, by kind; the APIs with their ports. */
const programs: { part: Part; version: Version; port: number; program: Program }[] = [];
atEnd(() => Promise.all(programs.map(({ program }) => program.stop())));
/** Ports of the APIs that receive requests. */
const open: number[] = [];

const environment = {
  DATABASE_URL: database.url,
  JWT_SECRET: secret,
  TEMPORAL_ADDRESS: temporalAddress(),
  TEMPORAL_TASK_QUEUE: `rolling-${randomUUID()}`,
  API_URL: 'http://localhost:8080',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'warn',
  RATE_LIMIT_ENABLED: 'false',
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: rate,
  EMAIL_RATE_PER_PROJECT_PER_SECOND: rate,
};

async function start(part: Part, version: Version, more: Record<string, string> = {}) {
  const { port, release } = await claimFreePort();
  const env = { ...environment, PORT: String(port), ...more };
  const program = await startProgram(part, env, { folder: folders[version] });
  void program.ended.then(release);
  programs.push({ part, version, port, program });
  if (part === 'api') open.push(port);
}

/** Asks the program to stop, as a rolling update does. Requests continue until it has stopped. */
async function stop(part: Part, version: Version) {
  const index = programs.findIndex((one) => one.part === part && one.version === version);
  const [{ program, port } = expect.unreachable()] = programs.splice(index, 1);
  expect([part, version, await program.stop()]).toEqual([part, version, 'exit code 0']);
  if (part === 'api') open.splice(open.indexOf(port), 1);
  expect(program.lines.filter((line) => /TMPRL1100|nondetermin/i.test(line))).toEqual([]);
}

let authorization: Record<string, string> = {};
/** Responses that no client should see. */
const refused: unknown[] = [];
let turn = 0;

/**
 * A request as a client behind a balancer sends it: to one API after the other, again with the same
 * `Idempotency-Key` when the connection breaks, with 503, and while the first try still runs.
 */
const call: Call = async (method, path, body, headers = {}) => {
  const repeatable = method === 'POST' ? { 'Idempotency-Key': randomUUID() } : {};
  const giveUpAt = Date.now() + 20_000;
  for (;;) {
    turn += 1;
    const port = open[turn % open.length];
    const answer = await ask(`http://127.0.0.1:${port}${path}`, method, body, {
      ...authorization,
      ...repeatable,
      ...headers,
    }).catch((error: unknown) => {
      if (Date.now() > giveUpAt) throw error;
      return null;
    });
    const again = !answer || answer.status === 503 || codeOf(answer) === 'IDEMPOTENCY_IN_PROGRESS';
    if (!again || Date.now() > giveUpAt) {
      if (answer && answer.status >= 400) refused.push([method, path, answer.status, answer.body]);
      return answer ?? expect.unreachable();
    }
    await sleep(50);
  }
};

const codeOf = ({ body }: TestAnswer) => body?.error?.code;

async function ask(url: string, method: string, body: unknown, headers: Record<string, string>) {
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
  };
}

/**
 * A project with a sender domain, two workflows and contacts for campaigns, made by the old API.
 */
async function createShop() {
  const account = { email: `${randomUUID()}@users.test`, password: 'a password' };
  const cookie = cookieOf(await call('POST', '/auth/signup', account));
  const { body: project } = await call(
    'POST',
    '/users/@me/projects',
    { name: 'Shop' },
    { Cookie: cookie },
  );
  authorization = { Authorization: `Bearer ${project.secret}` };
  const domain = `${randomUUID()}.test`;
  await call('POST', '/domains', { domain });
  const shop = { call, domain };
  const templateId = await createTemplate(shop);
  const mail = (name: string) => ({ type: 'SEND_EMAIL', name, templateId });
  const workflow = (eventName: string, ...rest: Parameters<typeof createWorkflow>[1]['steps']) =>
    createWorkflow(shop, { eventName, steps: [mail('First'), ...rest, mail('Second')] });
  const delayed = await workflow(
    'rests',
    { type: 'DELAY', name: 'Rest', config: { amount: 1, unit: 'minutes' } },
    { type: 'UPDATE_CONTACT', name: 'Note', config: { updates: { rested: true } } },
  );
  await workflow('waits', {
    type: 'WAIT_FOR_EVENT',
    name: 'Wait',
    config: { eventName: 'clicked' },
  });
  // Three seconds: the API takes no delay below a minute.
  await sql`update workflow_version set graph = replace(graph::text, '"amount": 1}', '"amount": 0.05}')::jsonb
    where workflow_id = ${delayed.id}`.execute(database.db);
  return { ...shop, projectId: project.id as string };
}

/** Expected number of mails by address. */
const expected = new Map<string, number>();
let executions = 0;
let campaigns = 0;

/** Returns the addresses of some contacts whose execution waits for its event. */
async function waiting(limit: number): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select email from contact where id in
        (select contact_id from execution where status = 'WAITING' order by id)
      limit ${limit}`.execute(database.db);
  return rows.map(({ email }) => email);
}

async function click(emails: readonly string[]): Promise<void> {
  for (const email of emails) await call('POST', '/v1/track', { email, event: 'clicked' });
}

/** Sends requests of all kinds until the returned function is called. */
function load({ domain }: { domain: string }) {
  let isOver = false;
  const reads = ['/contacts', '/emails', '/events', '/activity', '/workflows', '/campaigns'];
  const kinds = [
    async (email: string) => {
      expected.set(email, 2);
      executions += 1;
      await call('POST', '/v1/track', { email, event: 'rests', data: { plan: 'pro' } });
    },
    async (email: string) => {
      expected.set(email, 2);
      executions += 1;
      await call('POST', '/v1/track', { email, event: 'waits' });
    },
    async (email: string) => {
      expected.set(email, 1);
      const mail = { from: `a@${domain}`, subject: 'Hi', body: '<p>Hi</p>', to: email };
      await call('POST', '/v1/send', mail);
    },
    async (_email: string, round: number) => {
      await call('GET', reads[round % reads.length]!);
    },
    async (_email: string, round: number) => {
      // Half of them stay waiting for a later phase and its version.
      if (round % 4 < 2) await click(await waiting(1));
    },
  ];
  // Each loop waits for its own mail, so that a slow machine gets less load.
  const loops = [0, 1].map(async (loop) => {
    for (let round = loop; !isOver; round += 2) {
      const emails = kinds.map(newAddress);
      for (const [index, kind] of kinds.entries()) await kind(emails[index]!, round);
      const isMailed = () => isOver || emails.slice(0, 3).every((email) => sink.counts.has(email));
      await waitFor('the first mails of a round', isMailed, 60_000);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(loops);
  };
}

/** Starts a campaign to new contacts that takes some seconds. */
async function startCampaign(shop: {
  call: Call;
  domain: string;
  projectId: string;
}): Promise<void> {
  const group = randomUUID();
  await sql`
    insert into contact (project_id, email, subscribed, data)
      select ${shop.projectId}, ${group}::text || n || '@people.test', true,
          jsonb_build_object('group', ${group}::text)
        from generate_series(1, ${recipients}::int) n`.execute(database.db);
  for (let n = 1; n <= recipients; n += 1) expected.set(`${group}${n}@people.test`, 1);
  const conditions = [{ field: 'data.group', operator: 'equals', value: group }];
  const id = await createCampaign(shop, {
    audienceType: 'FILTERED',
    audienceFilter: { operator: 'AND', conditions },
  });
  await call('POST', `/campaigns/${id}/send`, {});
  campaigns += 1;
}

async function countOf(table: 'execution' | 'campaign', status: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)} where status = ${status}`.execute(
    database.db,
  );
  return rows[0]!.count;
}

/** Resolves when more mail has been sent, by the processes that run now. */
async function someMail(): Promise<void> {
  const { taken } = sink;
  await waitFor('mail', () => sink.taken > taken + 20, 60_000);
}

/** Prints the duration of each phase. */
function say(text: string): void {
  const seconds = Math.round(performance.now() / 1000);
  process.stdout.write(`${seconds} s: ${text}; ${sink.taken} mails\n`);
}

it('two builds work side by side, and so does the way back', async () => {
  await Promise.all([start('api', 'old'), start('worker', 'old')]);
  const shop = await createShop();
  const end = load(shop);
  await startCampaign(shop);
  await someMail();
  say('the old ones work');

  // The new API migrates the database, and the new worker waits for it.
  await Promise.all([
    start('worker', 'new'),
    start('api', 'new', { DATABASE_MIGRATE_ON_START: 'true' }),
  ]);
  const { newer } = await schemaState(database.url);
  expect(newer).toEqual([expect.stringMatching(/-next-build$/)]);
  await startCampaign(shop);
  await someMail();
  say('both work');

  await Promise.all([stop('worker', 'old'), stop('api', 'old')]);
  await startCampaign(shop);
  await someMail();
  say('the new ones work');

  await Promise.all([
    start('api', 'old', { DATABASE_MIGRATE_ON_START: 'false' }),
    start('worker', 'old'),
  ]);
  await Promise.all([stop('api', 'new'), stop('worker', 'new')]);
  await startCampaign(shop);
  await someMail();
  say('the old ones work again');

  await Promise.all([start('api', 'new'), start('worker', 'new')]);
  await Promise.all([stop('worker', 'old'), stop('api', 'old')]);
  await end();
  const isCompleted = async () => {
    // An event that comes before the step waits for it does not count.
    await click(await waiting(1_000));
    return (await countOf('execution', 'COMPLETED')) === executions;
  };
  const missing = () => [...expected].filter(([to, count]) => (sink.counts.get(to) ?? 0) < count);
  const isDone = async () =>
    (await isCompleted()) && (await countOf('campaign', 'SENT')) === campaigns && !missing().length;
  // A timeout is ignored here, because the assertions below name the missing work.
  await waitFor('the end of all', isDone, 90_000).catch(() => {});
  say(`${executions} executions and ${campaigns} campaigns, ${expected.size} people`);

  expect(refused).toEqual([]);
  expect(missing()).toEqual([]);
  expect([...sink.counts].filter(([to, count]) => count !== expected.get(to))).toEqual([]);
  expect(await countOf('execution', 'COMPLETED')).toBe(executions);
  expect(await countOf('campaign', 'SENT')).toBe(campaigns);
}, 300_000);

it('a worker waits until its schema has been migrated, and can be asked to stop meanwhile', async () => {
  const url = await useEmptyDatabase();
  const env = { ...environment, DATABASE_URL: url };
  const isWaiting = (lines: string[]) => () =>
    lines.some((line) => line.includes('waiting for the database to be migrated'));
  const [lines, others]: [string[], string[]] = [[], []];
  const starting = startProgram('worker', env, { lines });
  const stopped = launch({
    command: process.execPath,
    args: ['--import', 'tsx', 'worker/main.ts'],
    cwd: root,
    env: { PATH: process.env['PATH'], ...env },
    stopSignal: 'SIGTERM',
    onLine: (line) => others.push(line),
  });
  await waitFor('both to say so', () => isWaiting(lines)() && isWaiting(others)(), 40_000);
  await stopProcess(stopped, 'SIGTERM');
  expect(await stopped.ended).toBe('exit code 0');
  await migrateToLatest(url);
  const worker = await starting;
  expect(await worker.stop()).toBe('exit code 0');
}, 90_000);
