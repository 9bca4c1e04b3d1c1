import { type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { linkIdOf } from '../../domain/links/link-ids.ts';
import { trackingLinks } from '../../domain/links/tracking.ts';
import { createSigner } from '../../providers/encryption.ts';
import { createSnsAuthority, type SnsAuthority } from '../../test/support/fakes/sns-authority.ts';
import type { Benchmark, BenchmarkRun } from '../measuring/benchmark.ts';
import { type CpuSeconds, cpuBetween, printCpu, readCpu } from '../measuring/cpu.ts';
import type {
  FeedbackLoad,
  FeedbackReport,
  FeedbackRequest,
  FeedbackResult,
} from '../measuring/feedback-client.ts';
import { figure, median, percentile, printTable } from '../measuring/numbers.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { type Stack, stackOptions, startStack } from '../measuring/stack.ts';
import { followInsertedMail } from '../measuring/inserted-mail.ts';

/**
 * CPU and WAL of a notification by Amazon SNS (a delivery, an open and a click of each mail), and
 * of a request to our own pixel and links. Compared with the same changes by SQL alone, 50 in each
 * transaction. Half of the mail belongs to a campaign. Every acknowledged report is checked in the
 * database afterwards.
 */
export const feedback: Benchmark = {
  summary:
    'Notifications of Amazon SNS and tracking requests, against the same writes by SQL alone',
  options: {
    /** Mails of a round, with three reports on each. */
    mails: '500',
    rounds: '3',
    /** Notifications and requests per second, for subjects with a rate. */
    rate: '500',
    /** Requests under way at once, for subjects without a rate. */
    parallel: '64',
    /** Projects that the mail belongs to. */
    projects: '1',
    /** True: opens and clicks are by machines. False: they are by people. */
    machines: false,
    /** Only subjects whose name contains this text; empty: all. */
    only: '',
    ...stackOptions,
  },
  async run(run) {
    const sns = await startSns(run);
    const api = 'test/support/processes/api-trusting-sns.ts';
    const stack = await startStack(run, sns.settings, null, api);
    const projects: Project[] = [];
    for (let n = 0; n < run.count('projects'); n++)
      projects.push(await createProject(stack.apiUrl));
    const client = await stack.startProgram('client', 'bench/measuring/feedback-client.ts');
    const pids = { client: client.pid ?? 0, api: stack.pids.api, postgres: stack.pids.postgres };
    const rate = run.count('rate');
    const parallel = run.count('parallel');
    const all: Subject[] = [
      { name: 'bare SQL, 50 together', perSecond: 0, load: bareLoad },
      { name: `GET /health, ${rate}/s`, perSecond: rate, load: healthRequests },
      { name: `notifications, ${rate}/s`, perSecond: rate, load: notifications },
      { name: 'notifications, no rate', perSecond: 0, load: notifications },
      { name: `pixel and links, ${rate}/s`, perSecond: rate, load: trackingRequests },
    ];
    const subjects = all.filter(({ name }) => name.includes(run.text('only')));
    const agent = run.has('machines') ? 'curl/8.11.0' : browser;
    const results = subjects.map(({ name }) => ({ name, rounds: [] as Round[] }));
    for (let index = 0; index <= run.count('rounds'); index++) {
      for (const [place, { perSecond, load }] of subjects.entries()) {
        const mails = await insertMails(stack, projects, run.count('mails'));
        const reports = reportsOn(mails, load === trackingRequests);
        const given = {
          perSecond,
          parallel,
          ...load({ sns: sns.authority, projects, reports, agent }),
        };
        const isSettled = load === notifications || load === trackingRequests;
        const round = await play(
          stack,
          { client, pids },
          given,
          reports.length,
          isSettled ? () => waitUntilSettled(stack) : undefined,
        );
        if (load !== healthRequests) await verify(stack, reports, load !== trackingRequests);
        // The first round warms up.
        if (index > 0) results[place]?.rounds.push(round);
      }
    }
    printRounds(results);
  },
};

interface Subject {
  name: string;
  perSecond: number;
  load: (given: Given) => Kind<'sql'> | Kind<'http'>;
}

type Kind<K> = Omit<Extract<FeedbackLoad, { kind: K }>, 'perSecond' | 'parallel'> & {
  parallel?: number;
};

interface Given {
  sns: SnsAuthority;
  projects: readonly Project[];
  reports: readonly FeedbackReport[];
  /** The user agent of opens and clicks. */
  agent: string;
}

const secret = 'benchmark-benchmark-benchmark-bench';
const link = 'https://shop.example/chairs?utm_source=mail';

async function startSns(run: BenchmarkRun) {
  const authority = createSnsAuthority();
  const { https, http } = authority.servers;
  const ports = { https: await portOf(run, https), http: await portOf(run, http) };
  return {
    authority,
    settings: {
      JWT_SECRET: secret,
      SNS_AUTHORITY: authority.authority.pem,
      SNS_PORTS: JSON.stringify(ports),
    },
  };
}

async function portOf(run: BenchmarkRun, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  run.defer(async () => void server.close());
  return (server.address() as AddressInfo).port;
}

export interface Mail {
  id: string;
  contactId: string;
  campaignId: string | null;
}

/** Inserts sent mail to new contacts, half of it in a campaign, half as if by /v1/send. */
export async function insertMails(
  { pool, databaseUrl }: Stack,
  projects: readonly Project[],
  count: number,
): Promise<Mail[]> {
  const mails: Mail[] = [];
  const each = Math.ceil(count / projects.length);
  for (const project of projects) {
    const { rows } = await pool.query<Mail>(
      `with people as (
        insert into contact (project_id, email, subscribed)
          select $1, gen_random_uuid() || '@people.example', true from generate_series(1, $2)
          returning id, email
      ), made as (
        insert into campaign (project_id, name, subject, body, from_email, audience_type,
            message_class, status)
          values ($1, 'Bench', 'Hello', '<p>Hi</p>', $3, 'ALL', 'MARKETING', 'SENT')
          returning id
      ), numbered as (select *, row_number() over () as n from people)
      insert into email (project_id, contact_id, to_email, subject, body, from_email,
          message_class, status, attempts, message_id, sent_at, source_type, campaign_id)
        select $1, numbered.id, email, 'Hello', '<p>Hi</p>', $3, 'MARKETING', 'SENT', 1,
            gen_random_uuid(), now() - interval '2 hours', case n % 2 when 0 then 'CAMPAIGN' else 'TRANSACTIONAL' end,
            case n % 2 when 0 then made.id end
          from numbered, made
        returning id, contact_id as "contactId", campaign_id as "campaignId"`,
      [project.id, each, project.sender],
    );
    mails.push(...rows);
  }
  await followInsertedMail(databaseUrl);
  await pool.query('analyze email, contact, campaign');
  // Mixes the mail of all projects.
  return mails.map(
    (_, i) => mails[(i % projects.length) * each + Math.floor(i / projects.length)]!,
  );
}

/**
 * Number of mails delivered between the delivery and the open of a mail, and again until its click.
 */
const mailsBetween = 40;

/** Returns a delivery, an open and a click of each mail; no delivery if `isOwnTracking`. */
function reportsOn(mails: readonly Mail[], isOwnTracking: boolean): FeedbackReport[] {
  const reports: FeedbackReport[] = [];
  const report = (index: number, kind: FeedbackReport['kind']) => {
    const mail = mails[index];
    if (!mail) return;
    const { id: emailId, contactId, campaignId } = mail;
    reports.push({ receipt: randomUUID(), emailId, contactId, campaignId, kind });
  };
  for (let index = 0; index < mails.length + 2 * mailsBetween; index++) {
    if (!isOwnTracking) report(index, 'Delivery');
    report(index - mailsBetween, 'Open');
    report(index - 2 * mailsBetween, 'Click');
  }
  return reports;
}

const bareLoad = ({ projects, reports }: Given) => ({
  kind: 'sql' as const,
  // Parallel transactions would lock the campaigns in different orders.
  parallel: 1,
  projectId: projects[0]?.id ?? '',
  reports,
  together: 50,
});

/** Requests that do nothing, for comparison. */
const healthRequests = ({ reports }: Given) => ({
  kind: 'http' as const,
  requests: reports.map((): FeedbackRequest => ({ path: '/health' })),
});

const notifications = ({ sns, reports, agent }: Given) => ({
  kind: 'http' as const,
  requests: reports.map((report): FeedbackRequest => {
    const message = JSON.stringify(sesEvent(report, agent));
    const envelope = sns.notification(message, {
      MessageId: report.receipt,
      Subject: 'Amazon SES Email Event Notification',
    });
    return { path: '/webhooks/sns', body: JSON.stringify(envelope) };
  }),
});

const browser = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/131.0 Safari/537.36';

const trackedLink = { target: link, linkId: linkIdOf(link), linkCount: 2 };

function trackingRequests({ reports, agent }: Given) {
  const sign = createSigner(secret, 'tracking links');
  const requests = reports.map(({ emailId, kind }): FeedbackRequest => {
    const { pixelUrl, clickUrl } = trackingLinks('', emailId, sign);
    const path = kind === 'Open' ? pixelUrl : clickUrl(trackedLink);
    return { path, headers: { 'user-agent': agent } };
  });
  return { kind: 'http' as const, requests };
}

/** An event as SES publishes it (SES developer guide), with all of its fields. */
function sesEvent({ emailId, kind }: FeedbackReport, agent: string): Record<string, unknown> {
  // Mail is delivered long before it is opened, because early clicks would count as those of
  // machines.
  const hoursAgo = kind === 'Delivery' ? 1 : 0;
  const timestamp = new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
  const from = 'Shop <team@shop.test>';
  const to = 'somebody@people.example';
  const headers = {
    From: from,
    To: to,
    Subject: 'Hello',
    'MIME-Version': '1.0',
    'Content-Type': 'multipart/alternative; boundary="----=_Part_1_2002112352.1479505226456"',
    'List-Unsubscribe': `<https://api.shop.example/unsubscribe/${emailId}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    'X-Everpost-Email': emailId,
  };
  const detail = {
    Delivery: {
      timestamp,
      processingTimeMillis: 1203,
      recipients: [to],
      smtpResponse: '250 2.0.0 OK  1479505226 q81si4321234qkb.42 - gsmtp',
      reportingMTA: 'a8-53.smtp-out.amazonses.com',
    },
    Open: { timestamp, ipAddress: '192.0.2.1', userAgent: agent },
    Click: {
      timestamp,
      ipAddress: '192.0.2.1',
      userAgent: agent,
      link,
      linkTags: null,
    },
  }[kind];
  return {
    eventType: kind,
    mail: {
      timestamp,
      source: 'team@shop.test',
      sourceArn: 'arn:aws:ses:eu-west-1:123456789012:identity/shop.test',
      sendingAccountId: '123456789012',
      messageId: `0102018f-${emailId}-000000`,
      destination: [to],
      headersTruncated: false,
      headers: Object.entries(headers).map(([name, value]) => ({ name, value })),
      commonHeaders: { from: [from], to: [to], messageId: `0102018f-${emailId}`, subject: 'Hello' },
      tags: {
        everpost_email_id: [emailId],
        'ses:operation': ['SendRawEmail'],
        'ses:configuration-set': ['everpost'],
        'ses:source-ip': ['192.0.2.10'],
        'ses:from-domain': ['shop.test'],
        'ses:caller-identity': ['everpost'],
        'ses:outgoing-ip': ['192.0.2.20'],
      },
    },
    [kind.toLowerCase()]: detail,
  };
}

export interface Round extends FeedbackResult {
  cpu: CpuSeconds;
  /** The part of `cpu` after the last acknowledgement. */
  laterCpu: CpuSeconds;
  /** Bytes of WAL of each report. */
  wal: number;
}

export async function play(
  { pool }: Stack,
  { client, pids }: { client: ChildProcess; pids: Readonly<Record<string, number>> },
  load: FeedbackLoad,
  count: number,
  finish: () => Promise<void> = async () => undefined,
): Promise<Round> {
  const lsn = async () =>
    (await pool.query<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn')).rows[0]?.lsn;
  const [walBefore, before] = [await lsn(), await readCpu(pids)];
  client.send(load);
  const [result] = (await once(client, 'message')) as [FeedbackResult];
  const acknowledged = await readCpu(pids);
  await finish();
  const after = await readCpu(pids);
  if (result.acknowledged.length !== count) {
    throw new Error(`Not all were acknowledged: ${result.failures.join('\n')}`);
  }
  const { rows } = await pool.query<{ bytes: number }>(
    'select pg_wal_lsn_diff($1, $2)::float as bytes',
    [await lsn(), walBefore],
  );
  return {
    ...result,
    cpu: cpuBetween(before, after, count),
    laterCpu: cpuBetween(acknowledged, after, count),
    wal: (rows[0]?.bytes ?? 0) / count,
  };
}

/** Seconds after the last request in which all opens and clicks get their verdicts. */
const settlingSeconds = 10;

/** @throws Error when an open or click has no verdict in time */
async function waitUntilSettled({ pool }: Stack): Promise<void> {
  await sleep(settlingSeconds * 1000);
  const { rows } = await pool.query('select from engagement where settle_at is not null limit 1');
  if (rows.length > 0) throw new Error('An open or click has no verdict.');
}

/** @throws Error when an acknowledged report is not in the database exactly once */
async function verify(
  { pool }: Stack,
  reports: readonly FeedbackReport[],
  withReceipts: boolean,
): Promise<void> {
  const ids = [...new Set(reports.map(({ emailId }) => emailId))];
  const deliveries = reports.filter(({ kind }) => kind === 'Delivery').length;
  const { rows } = await pool.query<{ what: string; count: number }>(
    `select 'receipts' as what, count(*)::int from report_receipt where id = any($2)
      union all select name, count(distinct email_id)::int from event
          where email_id = any($1) and name not like 'email.human%' group by 1
      union all select 'events', count(*)::int from event
        where email_id = any($1) and name not like 'email.human%'
      union all select 'deliveries', count(*)::int from email
        where id = any($1) and delivered_at is not null
      union all select 'opened and clicked once', count(*)::int from email
        where id = any($1) and opens = 1 and clicks = 1 and status = 'CLICKED'
      union all select 'counted', coalesce(sum(delivered_count + opened_count + clicked_count), 0)::int
        from campaign where id = any($3)`,
    [ids, reports.map(({ receipt }) => receipt), campaignsOf(reports)],
  );
  const found = Object.fromEntries(rows.map(({ what, count }) => [what, count]));
  const expected = {
    receipts: withReceipts ? reports.length : 0,
    ...(deliveries > 0 ? { 'email.delivery': deliveries } : {}),
    'email.open': ids.length,
    'email.click': ids.length,
    events: reports.length,
    deliveries,
    'opened and clicked once': ids.length,
    counted: reports.filter(({ campaignId }) => campaignId !== null).length,
  };
  const wrong = Object.entries(expected).filter(([what, count]) => (found[what] ?? 0) !== count);
  if (wrong.length === 0) return;
  throw new Error(`Not exactly once: ${JSON.stringify({ expected, found })}`);
}

const campaignsOf = (reports: readonly FeedbackReport[]) => [
  ...new Set(reports.flatMap(({ campaignId }) => campaignId ?? [])),
];

/** Prints the results of all subjects. The first one is the reference. */
export function printRounds(results: readonly { name: string; rounds: readonly Round[] }[]): void {
  printTable([
    ['', 'acknowledged/s', 'p50 ms', 'p95 ms', 'WAL bytes each'],
    ...results.map(({ name, rounds }) => {
      const latencies = rounds.flatMap((round) => round.latencies);
      return [
        name,
        figure(median(rounds.map(({ acknowledged, seconds }) => acknowledged.length / seconds))),
        figure(median(latencies)),
        figure(percentile(latencies, 0.95)),
        figure(median(rounds.map(({ wal }) => wal))),
      ];
    }),
  ]);
  console.log('Everything acknowledged is in the database exactly once.\n');
  console.log('CPU of each, milliseconds (of requests, that of the client is not the server’s)\n');
  // The client that sends the requests is not part of the product, so its CPU does not count.
  const ofProduct = (name: string, cpu: CpuSeconds) =>
    name.startsWith('bare') ? cpu : { ...cpu, client: 0 };
  const isLater = ({ laterCpu }: Round) => Object.values(laterCpu).some((seconds) => seconds > 0);
  printCpu(
    results.flatMap(({ name, rounds }) => [
      { name, cpu: rounds.map(({ cpu }) => ofProduct(name, cpu)) },
      ...(rounds.some(isLater)
        ? [{ name: '  of it, verdicts', cpu: rounds.map((one) => ofProduct(name, one.laterCpu)) }]
        : []),
    ]),
    results[0]?.name ?? '',
  );
}
