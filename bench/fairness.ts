import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from './benchmark.ts';
import { createCampaign, insertContacts } from './campaign.ts';
import { figure, median, percentile, printTable } from './numbers.ts';
import { createProject, type Project } from './project.ts';
import { freePort, type Stack, stackOptions, startStack } from './stack.ts';

/**
 * How long a single mail takes, from its row to the provider's yes, while a campaign of another
 * project is being sent as fast as it goes. Against the same mails on an idle system.
 */
export const fairness: Benchmark = {
  summary: "A single mail's delay beside a campaign of another project, against an idle system",
  options: {
    recipients: '100000',
    mails: '40',
    /** Milliseconds between the mails. */
    pause: '250',
    /** Messages per second of the whole server; 0: as many as it can. */
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
    });
    await stack.startProgram('sink', 'bench/sink.ts', { PORT: String(port) });
    const [large, small] = [await createProject(stack.apiUrl), await createProject(stack.apiUrl)];
    await insertContacts(stack, large, run.count('recipients'));
    const given = { mails: run.count('mails'), pauseMs: run.count('pause') };
    // The first ones compile code and open connections.
    await delays(stack, small, { ...given, mails: 10 });
    const idle = await delays(stack, small, given);

    const id = await createCampaign(large);
    await large.call('POST', `/campaigns/${id}/send`, {});
    await sleep(2_000);
    const beside = await delays(stack, small, given);
    const { rows } = await stack.pool.query<{ status: string; sent_count: number }>(
      'select status, sent_count from campaign where id = $1',
      [id],
    );
    const [{ status, sent_count: sent } = { status: 'gone', sent_count: 0 }] = rows;
    console.log(`The campaign was ${status} when the last mail had left: ${sent} sent.\n`);
    const row = (name: string, ms: readonly number[]) => [
      name,
      figure(median(ms)),
      figure(percentile(ms, 0.95)),
      figure(percentile(ms, 1)),
      `${figure(median(ms) / median(idle))} ×`,
    ];
    printTable([
      ['milliseconds', 'p50', 'p95', 'most', 'ratio'],
      row('idle', idle),
      row('beside the campaign', beside),
    ]);
  },
};

/** Sends single mails. Answers for each the milliseconds until the provider had it. */
async function delays(
  { pool }: Stack,
  project: Project,
  { mails, pauseMs }: { mails: number; pauseMs: number },
): Promise<number[]> {
  const since = new Date();
  for (let index = 0; index < mails; index++) {
    const to = `single-${index}@bench.example`;
    const mail = { to, from: project.sender, subject: 'Your code', body: '<p>1234</p>' };
    await project.call('POST', '/v1/send', mail);
    await sleep(pauseMs);
  }
  for (;;) {
    const { rows } = await pool.query<{ ms: number }>(
      `select (extract(epoch from sent_at - created_at) * 1000)::float8 as ms from email
        where project_id = $1 and created_at >= $2 and sent_at is not null`,
      [project.id, since],
    );
    if (rows.length === mails) return rows.map(({ ms }) => ms);
    await sleep(100);
  }
}
