import { randomUUID } from 'node:crypto';
import { createReturnPaths } from '../../providers/return-paths.ts';
import { deliveryStatus } from '../../test/support/fakes/reports.ts';
import { signedMessage } from '../../test/support/fakes/signed-message.ts';
import type { Benchmark } from '../measuring/benchmark.ts';
import type { FeedbackReport } from '../measuring/feedback-client.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { insertMails, type Mail, play, printRounds, type Round } from './feedback.ts';

/**
 * Delivery statuses of mail servers per second (RFC 3464) at the webhook for messages. Compared
 * with the same changes by SQL alone, 50 in each transaction, and with empty requests.
 */
export const reports: Benchmark = {
  summary: 'Delivery statuses of mail servers at the webhook, against the same writes by SQL alone',
  options: {
    mails: '2000',
    rounds: '3',
    /** Requests under way at once. */
    parallel: '64',
    /** Projects that the mail belongs to. */
    projects: '1',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run, {
      JWT_SECRET: secret,
      RETURN_PATH_DOMAIN: host,
      INBOUND_MIME_SECRET: secret,
    });
    const projects: Project[] = [];
    for (let n = 0; n < run.count('projects'); n++)
      projects.push(await createProject(stack.apiUrl));
    const client = await stack.startProgram('client', 'bench/measuring/feedback-client.ts');
    const pids = { client: client.pid ?? 0, api: stack.pids.api, postgres: stack.pids.postgres };
    const given = { perSecond: 0, parallel: run.count('parallel') };
    const results = [
      { name: 'bare SQL, 50 together', rounds: [] as Round[] },
      { name: 'GET /health', rounds: [] as Round[] },
      { name: 'delivery statuses', rounds: [] as Round[] },
    ];
    const [bare, health, statuses] = results.map(({ rounds }) => rounds);
    for (let index = 0; index <= run.count('rounds'); index++) {
      const insert = () => insertMails(stack, projects, run.count('mails'));
      const deliveries = (await insert()).map(deliveryOf);
      const projectId = projects[0]?.id ?? '';
      const writes = { kind: 'sql' as const, projectId, reports: deliveries, together: 50 };
      const bareRound = await play(
        stack,
        { client, pids },
        // Parallel transactions would lock the campaigns in different orders.
        { ...given, ...writes, parallel: 1 },
        deliveries.length,
      );
      const empty = deliveries.map(() => ({ path: '/health' }));
      const healthRound = await play(
        stack,
        { client, pids },
        { ...given, kind: 'http', requests: empty },
        empty.length,
      );
      const mails = await insert();
      const requests = mails.map(statusOf);
      const round = await play(
        stack,
        { client, pids },
        { ...given, kind: 'http', requests },
        requests.length,
      );
      await verify(stack, mails);
      // The first round warms up.
      if (index === 0) continue;
      bare?.push(bareRound);
      health?.push(healthRound);
      statuses?.push(round);
    }
    printRounds(results);
  },
};

const secret = 'benchmark-benchmark-benchmark-bench';
const host = 'bounces.everpost.test';
const returnPaths = createReturnPaths({ jwtSecret: secret, jwtSecretsPrevious: [] }, host);

const deliveryOf = ({ id: emailId, contactId, campaignId }: Mail): FeedbackReport => ({
  receipt: randomUUID(),
  emailId,
  contactId,
  campaignId,
  kind: 'Delivery',
});

/** A successful delivery, as Postfix reports it. */
function statusOf({ id: emailId }: Mail) {
  const returnPath = returnPaths.pathAt(emailId, host);
  const to = 'somebody@people.example';
  const outcome = { action: 'delivered', status: '2.0.0', diagnostic: '250 2.0.0 Ok' };
  const raw = deliveryStatus({ returnPath, emailId, to }, outcome);
  const { headers } = signedMessage(secret, raw, returnPath);
  return { path: '/webhooks/incoming/mime', body: raw, headers };
}

/** @throws Error when an acknowledged report is not in the database exactly once */
async function verify({ pool }: Stack, mails: readonly Mail[]): Promise<void> {
  const { rows } = await pool.query<{ delivered: number; events: number }>(
    `select count(*) filter (where status = 'DELIVERED')::int as delivered,
        (select count(*)::int from event where email_id = any($1) and name = 'email.delivery') as events
      from email where id = any($1)`,
    [mails.map(({ id }) => id)],
  );
  const [found] = rows;
  if (found?.delivered === mails.length && found.events === mails.length) return;
  throw new Error(`Not exactly once: ${JSON.stringify({ mails: mails.length, found })}`);
}
