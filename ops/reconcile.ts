import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { repairRestores, type RepairServices } from '../activities/restores/repair.ts';
import type { Database } from '../db/database.ts';
import { type HeldMailGroup, listHeldMail } from '../db/reads/mail-to-decide.ts';
import { holdByHand } from '../db/restores/restores.ts';
import { listLosses, listRestores, type RestoreRow } from '../db/restores/restores.ts';
import {
  decideMail,
  type Decision,
  type MailFilter,
} from '../db/transactions/restores/decide-mail.ts';
import { holdChunks, holdMail } from '../db/transactions/restores/hold-mail.ts';
import { sweepIdOf } from '../domain/runs/runs.ts';
import { listStartedExecutions, signalExecution } from '../workflows/client/runs.ts';
import { ensureSweep } from '../workflows/client/schedule.ts';
import { ensureSearchAttributes } from '../workflows/client/search-attributes.ts';
import { type Command, type Result, UsageError, type Values } from './run.ts';
import { type Servers, withServers } from './servers.ts';

/** `npm run reconcile`: makes PostgreSQL and Temporal agree after a restore, and decides about mail. */

const help = `
Usage: npm run reconcile [-- options]

Compares PostgreSQL and Temporal, waits until runs and rows agree after a restore, and lists the mail
that waits for a decision.

  --list                  Shows what is known, without comparing
  --hold                  Holds all mail that there is
  --release, --discard    Sends the held mail now, or has it fail. With at least one of:
    --all                 all held mail
    --project <id>        mail of this project
    --campaign <id>       mail of this campaign
    --created-before <time>, --created-after <time>
  --timeout <seconds>     Waits at most so long; 300 by default
  --json                  Prints one JSON object
`;

export const reconcileCommand: Command = {
  name: 'reconcile',
  help,
  options: {
    list: { type: 'boolean' },
    hold: { type: 'boolean' },
    release: { type: 'boolean' },
    discard: { type: 'boolean' },
    all: { type: 'boolean' },
    project: { type: 'string' },
    campaign: { type: 'string' },
    'created-before': { type: 'string' },
    'created-after': { type: 'string' },
    timeout: { type: 'string' },
  },
  async run(values, env) {
    const modes = ['list', 'hold', 'release', 'discard'].filter((name) => values[name]);
    if (modes.length > 1)
      throw new UsageError(`--${modes[0]} and --${modes[1]} exclude each other.`);
    const decision = modes.find(
      (mode): mode is Decision => mode === 'release' || mode === 'discard',
    );
    const filter = filterOf(values, decision !== undefined);
    const timeoutMs = timeoutOf(values);
    return withServers(env, async (servers) => {
      const { db } = servers;
      if (decision) return decide(servers, decision, filter);
      if (values['hold']) {
        await holdByHand(db);
        await holdMail(db);
        await holdChunks(db, () => false);
      }
      const isAgreed = modes.length > 0 || (await compare(servers, timeoutMs));
      return report(db, isAgreed);
    });
  },
};

/** @throws UsageError when the conditions are not readable, or do not fit to the decision */
function filterOf(values: Values, isDecision: boolean): MailFilter {
  const names = ['all', 'project', 'campaign', 'created-before', 'created-after'];
  const given = names.filter((name) => values[name] !== undefined);
  if (!isDecision && given.length > 0) {
    throw new UsageError(`--${given[0]} needs --release or --discard.`);
  }
  if (isDecision && given.length === 0) {
    throw new UsageError('Say which mail: --all, --project, --campaign or a time.');
  }
  return {
    projectId: idOf(values, 'project'),
    campaignId: idOf(values, 'campaign'),
    createdBefore: timeOf(values, 'created-before'),
    createdAfter: timeOf(values, 'created-after'),
  };
}

function idOf(values: Values, name: string): string | undefined {
  const id = values[name];
  if (typeof id !== 'string') return undefined;
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) {
    throw new UsageError(`--${name} must be an id.`);
  }
  return id;
}

function timeOf(values: Values, name: string): Date | undefined {
  const text = values[name];
  if (typeof text !== 'string') return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new UsageError(`--${name} must be a time in ISO 8601.`);
  return at;
}

function timeoutOf(values: Values): number {
  const seconds = Number(values['timeout'] ?? 300);
  if (!(seconds >= 1)) throw new UsageError('--timeout must be a number of seconds.');
  return seconds * 1000;
}

/** Returns the services with which this command repairs, as a sweep does. */
function repairServices({ db, client, taskQueue }: Servers): RepairServices {
  return {
    db,
    log: { warn: (_, message) => process.stderr.write(`${message}\n`) },
    listStartedExecutions: (since) => listStartedExecutions(client, taskQueue, since),
    signalExecution: (executionId) => signalExecution(client, executionId),
  };
}

async function decide(servers: Servers, decision: Decision, filter: MailFilter): Promise<Result> {
  const { db } = servers;
  await mustExist(db, filter);
  const count = await decideMail(db, decision, filter);
  await repairRestores(repairServices(servers));
  const word = decision === 'release' ? 'released' : 'discarded';
  return { ok: true, data: { [word]: count }, lines: [`${count} messages are ${word}.`] };
}

/** @throws UsageError when the project or campaign does not exist */
async function mustExist(db: Database, { projectId, campaignId }: MailFilter): Promise<void> {
  const { rows } = await sql<{ project: boolean; campaign: boolean }>`
    select ${projectId ?? null}::uuid is null or exists (select from project
          where coalesce(public_id, id) = ${projectId ?? null}) as project,
        ${campaignId ?? null}::uuid is null or exists (select from campaign
          where id = ${campaignId ?? null}) as campaign`.execute(db);
  if (!rows[0]?.project) throw new UsageError(`There is no project ${projectId}.`);
  if (!rows[0]?.campaign) throw new UsageError(`There is no campaign ${campaignId}.`);
}

/** Milliseconds between two looks at the repair. */
const lookMs = 500;

/** Starts a sweep, and waits until all restores are repaired. Returns false when the time is over. */
async function compare(servers: Servers, timeoutMs: number): Promise<boolean> {
  const { db, client, taskQueue } = servers;
  const end = Date.now() + timeoutMs;
  await ensureSearchAttributes(client);
  await ensureSweep(client, taskQueue);
  const before = await readHeartbeat(db);
  await client.schedule.getHandle(sweepIdOf(taskQueue)).trigger();
  while ((await readHeartbeat(db)) === before) {
    if (Date.now() > end) return false;
    await sleep(lookMs);
  }
  for (;;) {
    await repairRestores(repairServices(servers));
    const open = (await listRestores(db)).filter((restore) => restore.ended_at === null);
    const isRepaired = open.every(
      ({ repaired_at, held_before, is_held }) =>
        repaired_at !== null && (held_before === null || is_held),
    );
    if (isRepaired) return true;
    if (Date.now() > end) return false;
    await sleep(lookMs);
  }
}

async function readHeartbeat(db: Database): Promise<string> {
  const { rows } = await sql<{ heartbeat: string }>`
    select heartbeat::text as heartbeat from installation`.execute(db);
  return rows[0]?.heartbeat ?? '';
}

async function report(db: Database, isAgreed: boolean): Promise<Result> {
  const restores = await listRestores(db);
  const open = restores.filter((restore) => restore.ended_at === null);
  const counted = open.length > 0 ? open : restores.slice(0, 1);
  const sum = (name: CountName) => counted.reduce((total, restore) => total + restore[name], 0);
  const waiting = await listHeldMail(db);
  const held = waiting.reduce((total, group) => total + group.held, 0);
  const data = {
    restores: restores.map(presentRestore),
    executions: {
      checked: sum('checked'),
      restarted: sum('restarted'),
      advanced: sum('advanced'),
      ended: sum('ended'),
    },
    lostExecutions: await listLosses(db, counted, 'execution'),
    lostMails: await listLosses(db, counted, 'mail'),
    schedules: { made: sum('schedules') },
    runs: { started: sum('runs') },
    mail: { held, settled: sum('settled') },
    waiting,
  };
  const ok = isAgreed && waiting.length === 0;
  return { ok, data, lines: linesOf(restores, waiting, isAgreed) };
}

type CountName = 'checked' | 'restarted' | 'advanced' | 'ended' | 'schedules' | 'runs' | 'settled';

function presentRestore({ id, kind, from_at, to_at, noticed_at, ended_at }: RestoreRow) {
  return { id, kind, from: from_at, to: to_at, noticedAt: noticed_at, endedAt: ended_at };
}

function linesOf(
  restores: readonly RestoreRow[],
  waiting: readonly HeldMailGroup[],
  isAgreed: boolean,
): string[] {
  const lines = restores.map(
    ({ kind, noticed_at, ended_at }) =>
      `${noticed_at.toISOString()}  ${kind}  ${ended_at ? `over since ${ended_at.toISOString()}` : 'open'}`,
  );
  if (restores.length === 0) lines.push('PostgreSQL and Temporal agree. No restore was noticed.');
  if (!isAgreed) lines.push('They do not agree yet. Is a worker running?');
  for (const { projectId, campaignId, held } of waiting) {
    const of = campaignId
      ? `campaign ${campaignId} of project ${projectId}`
      : `project ${projectId}`;
    lines.push(`${held} messages of ${of} wait for --release or --discard.`);
  }
  return lines;
}
