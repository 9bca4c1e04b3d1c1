import type { Benchmark } from '../measuring/benchmark.ts';
import { createProject, type Project } from '../measuring/project.ts';
import { compareAnswers, type Question } from '../measuring/questions.ts';
import { type Stack, stackOptions, startStack } from '../measuring/stack.ts';

/** The recipients and links of one large campaign, compared with plain queries. */
export const recipients: Benchmark = {
  summary: 'recipients and links of a large campaign, against plain queries',
  options: {
    /** Messages of the campaign, and as many clicks. */
    emails: '1000000',
    rounds: '9',
    ...stackOptions,
  },
  async run(run) {
    const stack = await startStack(run);
    const project = await createProject(stack.apiUrl);
    const count = run.count('emails');
    const campaignId = await fill(stack, project, count);
    console.log(`A campaign with ${count} emails and ${count} clicks on 50 links\n`);
    await compareAnswers(run, stack, project, await questionsOf(project, campaignId));
  },
};

/**
 * Inserts a campaign with its messages. Every second message has clicks on two links: a common one,
 * and one of 49 others. Returns the campaign's id.
 */
async function fill({ pool }: Stack, { id }: Project, count: number): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(
    `insert into campaign (project_id, name, subject, body, from_email, audience_type, status,
        message_class, frozen_at, audience_fixed, total_recipients, frozen_count, sent_count)
      values ($1, 'News', 'News', '<a href="https://shop.example/0">x</a>', 'a@bench.example', 'ALL',
        'SENT', 'MARKETING', now(), true, $2, $2, $2) returning id`,
    [id, count],
  );
  const campaignId = rows[0]!.id;
  await pool.query(
    `insert into contact (project_id, email, subscribed)
      select $1, 'c' || n || '@bench.example', true from generate_series(1, $2::int) n`,
    [id, count],
  );
  await pool.query(
    `insert into email (project_id, contact_id, campaign_id, to_email, subject, from_email,
        message_class, source_type, status, sent_at, clicked_at, clicks)
      select project_id, id, $2, email, 'News', 'a@bench.example', 'MARKETING', 'CAMPAIGN', 'SENT',
          now(), now(), 2
        from contact where project_id = $1`,
    [id, campaignId],
  );
  await pool.query(
    `insert into email_link (owner_id, link_id, email_created_at, email_id, clicks, human_clicks,
        machine_clicks, first_at, last_at)
      select campaign_id, lpad(link, 16, '0'), created_at, id, 1, 1, 0, now(), now()
        from (select email.*, row_number() over () as n from email where campaign_id = $1) email
        cross join lateral (values ('0'), ((1 + n % 49)::text)) clicked(link)
        where n % 2 = 0`,
    [campaignId],
  );
  await pool.query(
    `insert into tracked_link (owner_id, link_id, project_id, url, is_checked)
      select distinct owner_id, link_id, $1::uuid, 'https://shop.example/' || link_id, true
        from email_link where owner_id = $2`,
    [id, campaignId],
  );
  await pool.query(
    `insert into link_tally (owner_id, link_id, clicks, emails, human_clicks, human_emails,
        machine_clicks, first_at, last_at)
      select owner_id, link_id, count(*), count(*), count(*), count(*), 0, now(), now()
        from email_link where owner_id = $1 group by 1, 2`,
    [campaignId],
  );
  await pool.query('vacuum analyze');
  return campaignId;
}

async function questionsOf(project: Project, campaignId: string): Promise<Question[]> {
  const list = `/campaigns/${campaignId}/recipients`;
  const first = await project.call('GET', list);
  const count = (where: string) =>
    `select count(*) from email where campaign_id = '${campaignId}' and project_id = $1 ${where}`;
  const clicksOn = (link: string) =>
    `select count(*) from email_link where owner_id = '${campaignId}' and link_id = '${link}'
      and $1::uuid is not null`;
  const [common, rare] = ['0'.repeat(16), '7'.padStart(16, '0')];
  return [
    { name: 'first page, with the total', path: list, sql: count('') },
    { name: 'second page', path: `${list}?cursor=${String(first['cursor'])}`, sql: count('') },
    {
      name: 'who clicked anything',
      path: `${list}?outcome=clicked`,
      sql: count('and clicked_at is not null'),
    },
    { name: 'who clicked a common link', path: `${list}?link=${common}`, sql: clicksOn(common) },
    { name: 'who clicked a rare link', path: `${list}?link=${rare}`, sql: clicksOn(rare) },
    {
      name: 'links',
      path: `/campaigns/${campaignId}/links`,
      sql: `select link_id, count(*), sum(clicks) from email_link
        where owner_id = '${campaignId}' and $1::uuid is not null group by 1`,
    },
  ];
}
