import { setTimeout as sleep } from 'node:timers/promises';
import { createCampaign, insertContacts } from './campaign.ts';
import type { Benchmark, BenchmarkRun } from '../measuring/benchmark.ts';
import { cpuBetween, type CpuSeconds, readCpu } from '../measuring/cpu.ts';
import { figure, median, percentile, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { freePort, type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { times, until } from '../measuring/waiting.ts';

/**
 * The delays of mail that is due at a given time, and the cost of waiting mail. Measures single
 * mails that are due at many times, a campaign in many zones, and mail in quiet hours that a change
 * of the policy releases.
 */
export const timing: Benchmark = {
  summary: 'How late scheduled mail leaves, and what mail costs that is held',
  options: {
    /** Mails that are due one after the other within a minute. */
    mails: '10000',
    /** Recipients of the campaign to many zones, and mails that are held. */
    recipients: '100000',
    /** Seconds between the due times of two zones. */
    apart: '3',
    /** Seconds for which the CPU of the stack at rest is measured, without and with held mail. */
    rest: '60',
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
    await stack.startProgram('sink', 'bench/reference/sink.ts', { PORT: String(port) });
    // The first mails compile code and open connections, so they are not counted.
    await scheduledMail(stack, 200, 5_000);
    const mails = await scheduledMail(stack, run.count('mails'), 60_000);
    const zones = await manyZones(run, stack);
    const held = await heldMail(run, stack);
    const row = (name: string, ms: readonly number[]) => [
      name,
      String(ms.length),
      ...[median(ms), percentile(ms, 0.99), percentile(ms, 1)].map((value) => figure(value)),
    ];
    console.log('\nHow late mail left, in milliseconds\n');
    printTable([
      ['', 'mails', 'p50', 'p99', 'most'],
      row('single mails within a minute', mails),
      row('the first mail of each zone', zones.first),
      row('the last mail of each zone', zones.last),
    ]);
    console.log(`CPU of the stack at rest, in milliseconds per second; ${held.count} mails held\n`);
    const total = (cpu: CpuSeconds) => Object.values(cpu).reduce((sum, one) => sum + one, 0);
    const parts = Object.keys(held.without);
    const line = (name: string, cpu: CpuSeconds) => [
      name,
      ...parts.map((part) => figure((cpu[part] ?? 0) * 1_000)),
      figure(total(cpu) * 1_000),
    ];
    printTable([
      ['', ...parts, 'all'],
      line('nothing held', held.without),
      line('held', held.with),
    ]);
    console.log(
      `A change of the policy made them all due within ${figure(held.dueMs / 1_000)} s; ` +
        `the last had left after ${figure(held.sentMs / 1_000)} s.`,
    );
  },
};

const contentOf = (project: Project) => ({
  from: project.sender,
  subject: 'Your trial',
  body: '<p>It ends today.</p>',
});

/** Sends mail by `/v1/send/batch` that is due one after the other. Returns the delay of each. */
async function scheduledMail(stack: Stack, count: number, withinMs: number): Promise<number[]> {
  const project = await createProject(stack.apiUrl);
  const perRequest = 500;
  // Leaves enough time to request all mails.
  const begin = Date.now() + 5_000 + count * 6;
  await times(Math.ceil(count / perRequest), 4, (page) => {
    const size = Math.min(perRequest, count - page * perRequest);
    const messages = Array.from({ length: size }, (_, index) => {
      const number = page * perRequest + index;
      const scheduledFor = begin + Math.floor((number / count) * withinMs);
      return { ...contentOf(project), to: `mail-${number}@bench.example`, scheduledFor };
    });
    return project.call('POST', '/v1/send/batch', { messages });
  });
  if (Date.now() > begin) throw new Error('Asking for them took longer than until the first.');
  await allSent(stack, project, count, withinMs + 120_000);
  const { rows } = await stack.pool.query<{ late: number }>(
    `select extract(epoch from sent_at - scheduled_for)::float8 * 1000 as late from email
      where project_id = $1`,
    [project.id],
  );
  return rows.map(({ late }) => late);
}

function allSent({ pool }: Stack, project: Project, count: number, timeoutMs: number) {
  const isSent = async () => {
    const { rows } = await pool.query<{ sent: number }>(
      'select count(sent_at)::int as sent from email where project_id = $1',
      [project.id],
    );
    return rows[0]?.sent === count;
  };
  return until('all mail to leave', isSent, { everyMs: 500, timeoutMs });
}

/** Zones with different local times. */
const zones = [
  ...Array.from(
    { length: 27 },
    (_, index) => `Etc/GMT${index < 15 ? '-' : '+'}${Math.abs(14 - index)}`,
  ),
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Asia/Tehran',
  'Asia/Kabul',
  'Asia/Yangon',
  'Australia/Darwin',
  'Australia/Adelaide',
  'Australia/Eucla',
  'Pacific/Marquesas',
  'Pacific/Chatham',
  'America/St_Johns',
];

/**
 * Sends a campaign at a local time. During a pause, the due times of its zones, most of them hours
 * apart, are moved together. Returns the delays of the first and the last mail of each zone.
 */
async function manyZones(
  run: BenchmarkRun,
  stack: Stack,
): Promise<{ first: number[]; last: number[] }> {
  const { pool } = stack;
  const project = await createProject(stack.apiUrl);
  const recipients = run.count('recipients');
  await insertContacts(stack, project, recipients);
  await pool.query(
    `update contact set data = data || jsonb_build_object('timeZone', ($2::text[])[
        1 + mod(hashtext(id::text)::bigint + 2147483648, $3::int)])
      where project_id = $1`,
    [project.id, zones, zones.length],
  );
  await pool.query('vacuum analyze contact');
  const id = await createCampaign(project);
  // Five seconds from now, in the local time of the first zone, which is 14 hours ahead of UTC.
  const localTime = new Date(Date.now() + 14 * 3_600_000 + 5_000).toISOString().slice(0, 19);
  const asked = performance.now();
  await project.call('POST', `/campaigns/${id}/send`, { localTime });
  console.log(`The first moment was found in ${figure(performance.now() - asked)} ms.`);
  const is = async (condition: string) => {
    const { rows } = await pool.query<{ is: boolean }>(
      `select ${condition} as is from campaign where id = $1`,
      [id],
    );
    return rows[0]?.is === true;
  };
  await until('the audience to be fixed', () => is('audience_fixed'), { timeoutMs: 120_000 });
  const isIdle = `not exists (select from campaign_chunk where campaign_id = campaign.id
    and (attempt_id is not null or due_at <= now()))`;
  await until('the first zone', () => is(isIdle), { timeoutMs: 120_000 });
  await project.call('POST', `/campaigns/${id}/pause`);
  await pool.query(
    `with moved as (
      select due_at, date_trunc('second', now()) + make_interval(secs => 10 + $2 * (row_number()
          over (order by due_at) - 1)::int) as at
        from (select distinct due_at from campaign_chunk where campaign_id = $1) moments
    ), chunks as (
      update campaign_chunk set due_at = moved.at from moved
        where campaign_id = $1 and campaign_chunk.due_at = moved.due_at
    )
    update email set scheduled_for = moved.at from moved
      where campaign_id = $1 and scheduled_for = moved.due_at and status = 'PENDING'`,
    [id, run.count('apart')],
  );
  await project.call('POST', `/campaigns/${id}/resume`);
  await until('the campaign to be sent', () => is(`status = 'SENT'`), { timeoutMs: 600_000 });
  const { rows } = await pool.query<{ first: number; last: number }>(
    `select extract(epoch from min(sent_at) - scheduled_for)::float8 * 1000 as first,
        extract(epoch from max(sent_at) - scheduled_for)::float8 * 1000 as last
      from email where campaign_id = $1 group by scheduled_for order by scheduled_for`,
    [id],
  );
  // Leaves out the first zone, whose mail was due while the audience was still being frozen.
  const moved = rows.slice(1);
  return { first: moved.map(({ first }) => first), last: moved.map(({ last }) => last) };
}

/**
 * Sends a campaign in quiet hours. Measures the stack at rest, and the time to release the mail.
 */
async function heldMail(run: BenchmarkRun, stack: Stack) {
  const project = await createProject(stack.apiUrl);
  const count = run.count('recipients');
  await insertContacts(stack, project, count);
  await stack.pool.query('vacuum analyze');
  // The runs end after an idle minute, so wait a little longer.
  await sleep(90_000);
  const rest = async () => {
    const seconds = run.count('rest');
    const before = await readCpu(stack.pids);
    await sleep(seconds * 1_000);
    return cpuBetween(before, await readCpu(stack.pids), seconds);
  };
  const without = await rest();
  const text = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 19);
  const quietHours = { from: text(-60_000), to: text(6 * 3_600_000) };
  await project.call('PUT', '/send-policy', { quietHours });
  const id = await createCampaign(project);
  await project.call('POST', `/campaigns/${id}/send`, {});
  const heldNow = async () => {
    const { rows } = await stack.pool.query<{ held: number }>(
      `select count(*)::int as held from email where project_id = $1 and status = 'PENDING'
        and hold_reason is not null and held_until > now()`,
      [project.id],
    );
    return rows[0]?.held ?? 0;
  };
  await until('all mail to be held', async () => (await heldNow()) === count, { everyMs: 1_000 });
  await sleep(30_000);
  const withHeld = await rest();
  const began = performance.now();
  await project.call('PUT', '/send-policy', { quietHours: null });
  await until('all mail to be due', async () => (await heldNow()) === 0, { everyMs: 200 });
  const dueMs = performance.now() - began;
  await allSent(stack, project, count, 600_000);
  return { count, without, with: withHeld, dueMs, sentMs: performance.now() - began };
}
