import type { Benchmark } from '../measuring/benchmark.ts';
import { createProject, type Project } from '../measuring/project.ts';
import {
  compareAnswers,
  contactOfRow,
  fillProject,
  type Question,
} from '../measuring/questions.ts';
import { stackOptions, startStack } from '../measuring/stack.ts';
import { until } from '../measuring/waiting.ts';
import { followInsertedMail } from '../measuring/inserted-mail.ts';

/** The activity feed, its numbers and the analytics, compared with plain queries. */
export const activity: Benchmark = {
  summary: 'The activity feed and analytics of many emails and events, against plain queries',
  options: {
    /** Emails, and as many events. */
    rows: '1000000',
    rounds: '9',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const rows = run.count('rows');
    console.log(`${rows} emails and ${rows} events of 60 days\n`);
    const { rows: made } = await stack.pool.query<{ id: string }>(
      `insert into template (project_id, name, subject, body, type)
        values ($1, 'All mail', 'Hello', '<p>Hello</p>', 'MARKETING') returning id`,
      [project.id],
    );
    await fillProject(stack, project, [
      { insert: insertEmails, rows },
      { insert: insertEvents, rows },
    ]);
    await followInsertedMail(stack.databaseUrl);
    const isCounted = async () => {
      const { rows: left } = await stack.pool.query(
        `select from watermark where name = 'email_tally' and at < now() - interval '4 days'`,
      );
      return left.length === 0;
    };
    await until('the sweep to count the days', isCounted);
    await stack.pool.query('vacuum analyze');
    await compareAnswers(run, stack, project, await askedOf(project, made[0]?.id ?? ''));
  },
};

const at = `now() - interval '60 days' * (i / $2::float8)`;

// In every 100 emails, 98 are delivered, 2 bounced, 40 opened and 10 clicked.
const insertEmails = `
  insert into email (project_id, contact_id, to_email, subject, body, from_email, message_class,
      source_type, template_id, status, sent_at, delivered_at, bounced_at, opened_at, clicked_at, opens, clicks,
      created_at)
    select $1, c.id, 'to@bench.example', 'Hello', repeat('<p>Hello</p>', 50), 'a@bench.example',
        'MARKETING', 'TRANSACTIONAL', (select id from template where project_id = $1), 'DELIVERED', at, case when i % 100 >= 2 then at end,
        case when i % 100 < 2 then at end, case when i % 100 >= 60 then at end,
        case when i % 100 >= 90 then at end, 1, 1, at
      from generate_series(1, $2::int) i ${contactOfRow} cross join lateral (select ${at} as at) t`;

// One event in five is `ordered`, and the others are events of the mail.
const insertEvents = `
  insert into event (project_id, contact_id, name, created_at)
    select $1, c.id,
        (array['ordered', 'email.sent', 'email.delivery', 'email.open', 'email.click'])[1 + i % 5],
        ${at}
      from generate_series(1, $2::int) i ${contactOfRow}`;

/** Selects the newest sent mail. A page of the feed also has items of all other kinds. */
const newestSent = `
  select email.*, contact.email from email join contact on contact.id = contact_id
    where email.project_id = $1 and sent_at is not null and status <> 'FAILED'
      and source_type <> 'INBOUND'
    order by sent_at desc, email.id desc limit 50`;

const byDay = `
  select date_trunc('day', sent_at), count(*) from email where project_id = $1 group by 1`;

async function askedOf(project: Project, templateId: string): Promise<Question[]> {
  const deep = new Date(Date.now() - 40 * 86_400_000).toISOString();
  const page = await project.call('GET', `/activity?endDate=${deep}`);
  const sixtyDaysAgo = new Date(Date.now() - 59 * 86_400_000).toISOString();
  const [item] = page['data'] as { contactId: string }[];
  return [
    { name: 'first page', path: '/activity', sql: newestSent },
    {
      name: 'a page 40 days back',
      path: `/activity?cursor=${String(page['cursor'])}`,
      sql: newestSent,
    },
    { name: 'only opens', path: '/activity?types=email.opened', sql: newestSent },
    { name: 'a type without items', path: '/activity?types=email.complaint', sql: newestSent },
    { name: 'one contact', path: `/activity?contactId=${item?.contactId}`, sql: newestSent },
    { name: 'recent count', path: '/activity/recent-count?minutes=60', sql: newestSent },
    {
      name: 'stats of 30 days',
      path: '/activity/stats',
      sql: `select count(*) filter (where sent_at >= now() - interval '30 days'),
          count(*) filter (where opened_at >= now() - interval '30 days'),
          count(*) filter (where clicked_at >= now() - interval '30 days')
        from email where project_id = $1`,
    },
    {
      name: 'timeseries of 60 days',
      path: `/analytics/timeseries?startDate=${sixtyDaysAgo}`,
      sql: byDay,
    },
    { name: 'series of 30 days', path: '/analytics/series', sql: byDay },
    {
      name: 'series of 30 days in a zone',
      path: '/analytics/series?timeZone=Asia/Kolkata',
      sql: byDay,
    },
    { name: 'series of 720 hours', path: '/analytics/series?interval=hour', sql: byDay },
    {
      name: 'series of all mail of a template',
      path: `/analytics/series?templateId=${templateId}&startDate=${sixtyDaysAgo}`,
      sql: byDay,
    },
  ];
}
