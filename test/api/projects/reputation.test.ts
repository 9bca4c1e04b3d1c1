import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { failCampaignEmails } from '../../../db/campaigns/chunks.ts';
import { transact } from '../../../db/database.ts';
import { disableProject } from '../../../db/transactions/projects/suspend-project.ts';
import { useApi } from '../../support/api.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';
import { bounceDetail, sesEvent } from '../../support/fakes/ses-messages.ts';
import { tasksOf } from '../../support/sweep-now.ts';
import { writeMail } from '../../support/mail-tables.ts';

const fake = await useFakeSns();
const api = await useApi();
api.services.feedbackReaders = fake.feedbackReaders;

interface Given {
  sent: number;
  /** Number of earlier bounces, and their age in days. */
  bounced?: number;
  bouncedDaysAgo?: number;
  complained?: number;
  /** Age of the project in days. */
  ageDays?: number;
  domain?: string;
}

/** Creates a project that has sent mail, with most of its feedback. */
async function createProject(given: Given, on = api) {
  // A user with a disabled project cannot create another, so each project has a new user.
  const project = await on.createProject((await on.signUp()).cookie);
  const { sent, bounced = 0, complained = 0, bouncedDaysAgo = 0, domain = 'x.example' } = given;
  await sql`update project set created_at = now() - make_interval(days => ${given.ageDays ?? 60})
    where id = ${project.id}`.execute(on.db);
  await writeMail(on.db, (tx) =>
    sql`
    with made as (
      insert into contact (project_id, email, subscribed)
        select ${project.id}, n || '@' || ${domain}::text, true from generate_series(1, ${sent}) n
        returning id, email
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, status, message_id, sent_at, bounced_at, complained_at)
      select ${project.id}, id, email, 's', 'team@shop.test', 'MARKETING', 'TRANSACTIONAL', 'SENT',
          gen_random_uuid()::text, now() - make_interval(days => ${bouncedDaysAgo}),
          case when n <= ${bounced} then now() - make_interval(days => ${bouncedDaysAgo}) end,
          case when n <= ${complained} then now() end
        from (select *, row_number() over () as n from made) made`.execute(tx),
  );
  return project;
}

/** Records one more report of a kind, on a message without feedback. */
async function feedback(
  projectId: string,
  kind: 'Bounce' | 'Complaint',
  on = api,
  subType = 'General',
) {
  const { id } = await on.db
    .selectFrom('email')
    .select('id')
    .where('project_id', '=', projectId)
    .where('status', '=', 'SENT')
    .where('bounced_at', 'is', null)
    .where('complained_at', 'is', null)
    .limit(1)
    .executeTakeFirstOrThrow();
  const detail =
    kind === 'Bounce' ? bounceDetail('Permanent', subType) : { complaintSubType: subType };
  const body = fake.notification(sesEvent(kind, { emailId: id }, { ...detail, timestamp: null }));
  const { status } = await on.request('POST', '/webhooks/sns', { body });
  expect(status).toBe(200);
  return id;
}

async function reasonOf(projectId: string, on = api): Promise<string | null> {
  const row = await on.db
    .selectFrom('project')
    .select('disabled_reason')
    .where('id', '=', projectId)
    .executeTakeFirstOrThrow();
  return row.disabled_reason;
}

describe('a project is disabled', () => {
  it('by 10 permanent bounces of 100 sent', async () => {
    const project = await createProject({ sent: 100, bounced: 8 });
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBeNull();
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
    const { status, body } = await api.request('POST', '/contacts', {
      key: project.secretKey,
      body: { email: 'a@x.example' },
    });
    expect([status, body.error.code, body.error.details]).toEqual([
      403,
      'PROJECT_DISABLED',
      { reason: 'EMAIL_REPUTATION' },
    ]);
  });

  it.each([
    ['PAYMENT_FAILED', 'EMAIL_REPUTATION', 'PAYMENT_FAILED'],
    ['CARD_VERIFICATION_FAILED', 'CARD_VERIFICATION_FAILED', 'EMAIL_REPUTATION'],
    ['MANUAL', 'MANUAL', 'EMAIL_REPUTATION'],
  ])('while it is disabled for another reason: %s', async (reason, shown, next) => {
    const project = await createProject({ sent: 100, bounced: 9 });
    const set = (disabled_reason: string | null) =>
      api.db.updateTable('project').set({ disabled_reason }).where('id', '=', project.id).execute();
    await set(reason);
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBe(shown);
    await set(null);
    expect(await reasonOf(project.id)).toBe(next);
    await set(null);
    expect(await reasonOf(project.id)).toBeNull();
  });

  const cases: [string, Given, 'Bounce' | 'Complaint', boolean][] = [
    ['10 bounces of 99', { sent: 99, bounced: 9 }, 'Bounce', false],
    ['9 bounces of 100', { sent: 100, bounced: 8 }, 'Bounce', false],
    ['20 bounces of 300: 6.7 %', { sent: 300, bounced: 19 }, 'Bounce', false],
    ['24 bounces of 300: 8 % of all', { sent: 300, bounced: 23 }, 'Bounce', true],
    ['24 bounces of 301', { sent: 301, bounced: 23 }, 'Bounce', false],
    [
      '24 bounces of 300, all but one of them old',
      { sent: 300, bounced: 23, bouncedDaysAgo: 8 },
      'Bounce',
      true,
    ],
    ['100 bounces on a day', { sent: 3000, bounced: 99 }, 'Bounce', true],
    ['99 bounces on a day', { sent: 3000, bounced: 98 }, 'Bounce', false],
    ['25 bounces on a day, young', { sent: 3000, bounced: 24, ageDays: 29 }, 'Bounce', true],
    ['25 bounces on a day, older', { sent: 3000, bounced: 24, ageDays: 30 }, 'Bounce', false],
    ['5 complaints of 3000', { sent: 3000, complained: 4 }, 'Complaint', true],
    ['4 complaints of 2000: too few to matter', { sent: 2000, complained: 3 }, 'Complaint', false],
    ['7 complaints of 8, young', { sent: 8, complained: 6, ageDays: 1 }, 'Complaint', true],
    ['many bounces, but a complaint was the last', { sent: 100, bounced: 20 }, 'Complaint', false],
    [
      'mail to the simulator',
      { sent: 200, bounced: 150, domain: 'simulator.test' },
      'Bounce',
      false,
    ],
  ];
  it.each(cases)('%s', async (_, given, kind, isDisabled) => {
    const project = await createProject(given);
    await feedback(project.id, kind);
    expect(await reasonOf(project.id)).toBe(isDisabled ? 'EMAIL_REPUTATION' : null);
  });

  it('not when the server leaves that to its operator; the violation is shown', async () => {
    const lenient = await useApi({ AUTO_PROJECT_DISABLE: 'false' });
    lenient.services.feedbackReaders = fake.feedbackReaders;
    const project = await createProject({ sent: 100, bounced: 20 }, lenient);
    await feedback(project.id, 'Bounce', lenient);
    expect(await reasonOf(project.id, lenient)).toBeNull();
    const { body } = await lenient.request('GET', `/projects/${project.id}/security`, {
      key: project.secretKey,
    });
    expect(body.data.status.violations).toHaveLength(1);
  });

  it('not by what went to the simulator, and not saved by it', async () => {
    const project = await createProject({ sent: 100, bounced: 9 });
    await writeMail(api.db, (tx) =>
      sql`
      insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
          source_type, status, sent_at)
        select project_id, contact_id, 'success@simulator.test', 's', 'team@shop.test',
            'MARKETING', 'TRANSACTIONAL', 'DELIVERED', now()
          from email where project_id = ${project.id}`.execute(tx),
    );
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
  });

  it.each([
    ['Bounce', { sent: 120, bounced: 8 }],
    ['Complaint', { sent: 3000, complained: 3 }],
  ] as const)('not by a %s from the list that Amazon SES keeps', async (kind, given) => {
    const project = await createProject(given);
    await feedback(project.id, kind);
    for (let times = 0; times < 3; times += 1) {
      const id = await feedback(project.id, kind, api, 'OnAccountSuppressionList');
      const email = await api.db
        .selectFrom('email')
        .innerJoin('contact', 'contact.id', 'email.contact_id')
        .select(['email.status', 'contact.subscribed', 'contact.email'])
        .where('email.id', '=', id)
        .executeTakeFirstOrThrow();
      const status = kind === 'Bounce' ? 'BOUNCED' : 'COMPLAINED';
      expect(email).toMatchObject({ status, subscribed: false });
      const entry = await api.request(
        'GET',
        `/suppression-list/${encodeURIComponent(email.email)}`,
        { key: project.secretKey },
      );
      const reason = kind === 'Bounce' ? 'hard_bounce' : 'complaint';
      expect(entry.body).toMatchObject({ reason });
    }
    expect(await reasonOf(project.id)).toBeNull();
    const { body } = await api.request('GET', `/projects/${project.id}/security`, {
      key: project.secretKey,
    });
    const measure = kind === 'Bounce' ? 'bounces' : 'complaints';
    const real = kind === 'Bounce' ? 9 : 4;
    expect(body.data.status.allTime).toMatchObject({ total: given.sent, [measure]: real });
    await feedback(project.id, kind);
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
  });

  it('by a bounce that the receiver reports of a message that was on the list before', async () => {
    const project = await createProject({ sent: 100, bounced: 9 });
    const emailId = await feedback(project.id, 'Bounce', api, 'OnAccountSuppressionList');
    expect(await reasonOf(project.id)).toBeNull();
    const real = sesEvent('Bounce', { emailId }, bounceDetail('Permanent'));
    await api.request('POST', '/webhooks/sns', { body: fake.notification(real) });
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
  });

  it('by its bounces, also when one of them is reported again from the list', async () => {
    const project = await createProject({ sent: 100, bounced: 8 });
    const emailId = await feedback(project.id, 'Bounce');
    const again = bounceDetail('Permanent', 'OnAccountSuppressionList');
    const listed = sesEvent('Bounce', { emailId }, again);
    await api.request('POST', '/webhooks/sns', { body: fake.notification(listed) });
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
  });

  it('not by mail that the simulator bounced', async () => {
    const project = await createProject({ sent: 200, domain: 'simulator.test', bounced: 199 });
    await feedback(project.id, 'Bounce');
    expect(await reasonOf(project.id)).toBeNull();
  });
});

describe('mail that is stored while its project is being disabled', () => {
  it('fails with the next sweep for its reputation, and when it is due for its payment', async () => {
    const projects = await Promise.all([createProject({ sent: 1 }), createProject({ sent: 1 })]);
    const pending = { status: 'PENDING', sent_at: null, message_id: null } as const;
    const [bad, poor] = projects.map(({ id }) => id);
    await transact(api.db, async (tx) => {
      await disableProject(tx, bad!, 'EMAIL_REPUTATION');
      await disableProject(tx, poor!, 'PAYMENT_FAILED');
    });
    const mailIn = async (projectId: string) =>
      insertTestEmail(api.db, { projectId, contactId: await anyContact(projectId) }, pending);
    const mails = [await mailIn(bad!), await mailIn(poor!)];
    await tasksOf(api, {}).CANCEL_LATE_EXECUTIONS();
    const statusOf = async (id: string) =>
      (
        await api.db
          .selectFrom('email')
          .select('status')
          .where('id', '=', id)
          .executeTakeFirstOrThrow()
      ).status;
    expect(await Promise.all(mails.map(statusOf))).toEqual(['FAILED', 'PENDING']);
  });
});

describe('when a project is disabled', () => {
  it('its waiting mail fails, its campaigns, executions and jobs are cancelled', async () => {
    const project = await createProject({ sent: 100, bounced: 9 });
    const contactId = await anyContact(project.id);
    const campaigns = await Promise.all(
      (['DRAFT', 'SCHEDULED', 'SENDING', 'SENT'] as const).map((status) =>
        insertTestCampaign(api.db, project.id, { status }),
      ),
    );
    const paused = await insertTestCampaign(api.db, project.id, {
      status: 'PAUSED',
      paused_reason: 'requested',
    });
    const pending = { status: 'PENDING', sent_at: null, message_id: null } as const;
    const given = { projectId: project.id, contactId };
    const mails = [
      await insertTestEmail(api.db, given, pending),
      await insertTestEmail(api.db, { ...given, campaignId: campaigns[2]! }, pending),
    ] as const;
    const executionId = await insertExecution(project.id, contactId);
    const jobId = `bulk-delete-${project.id}-${randomUUID()}`;
    await sql`insert into job (id, project_id, kind, data)
      values (${jobId}, ${project.id}, 'bulk', '{}')`.execute(api.db);
    api.dispatched.length = 0;
    await feedback(project.id, 'Bounce');

    const waiting = await api.db
      .selectFrom('email')
      .select('status')
      .where('id', '=', mails[1])
      .executeTakeFirstOrThrow();
    expect(waiting.status).toBe('PENDING');
    // The run of the campaign suppresses its mail page by page, because there may be a million.
    await failCampaignEmails(api.db, campaigns[2]!, 10);
    for (const id of mails) {
      const email = await api.db
        .selectFrom('email')
        .select(['status', 'error', 'trace'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      expect(email).toMatchObject({ status: 'FAILED', error: 'project_disabled' });
      expect(email.trace).toMatchObject([
        { state: 'withheld', detail: { reason: 'project_disabled' } },
      ]);
    }
    const rows = await api.db
      .selectFrom('campaign')
      .select(['id', 'status'])
      .where('project_id', '=', project.id)
      .execute();
    const statusOf = (id: string) => rows.find((row) => row.id === id)?.status;
    expect([...campaigns, paused].map(statusOf)).toEqual([
      'DRAFT',
      'CANCELLED',
      'CANCELLED',
      'SENT',
      'CANCELLED',
    ]);
    const execution = await api.db
      .selectFrom('execution')
      .select(['status', 'exit_reason'])
      .where('id', '=', executionId)
      .executeTakeFirstOrThrow();
    expect(execution).toEqual({ status: 'CANCELLED', exit_reason: 'project_disabled' });
    const job = await api.db
      .selectFrom('job')
      .select('state')
      .where('id', '=', jobId)
      .executeTakeFirstOrThrow();
    expect(job.state).toBe('cancelled');
    expect(api.dispatched).toContain(`execution-${executionId}`);
    expect(api.dispatched).toContain(`campaign-${campaigns[2]}`);
    expect(api.dispatched).toContain(`campaign-${paused}`);
  });

  it('feedback and opt-outs are still recorded, and start nothing', async () => {
    const project = await createProject({ sent: 3 });
    const contactId = await anyContact(project.id);
    await insertExecution(project.id, contactId, 'email.bounce');
    await sql`delete from execution where project_id = ${project.id}`.execute(api.db);
    await sql`update project set disabled_reason = 'MANUAL' where id = ${project.id}`.execute(
      api.db,
    );
    await feedback(project.id, 'Bounce');
    const events = await api.db
      .selectFrom('event')
      .select('name')
      .where('project_id', '=', project.id)
      .execute();
    expect(events.map(({ name }) => name)).toEqual(['email.bounce']);
    const started = await api.db
      .selectFrom('execution')
      .select('id')
      .where('project_id', '=', project.id)
      .execute();
    expect(started).toEqual([]);
    expect(await reasonOf(project.id)).toBe('MANUAL');
  });

  it('bounces that come at one moment do not block each other', async () => {
    const project = await createProject({ sent: 120 });
    const emails = await api.db
      .selectFrom('email')
      .select('id')
      .where('project_id', '=', project.id)
      .limit(20)
      .execute();
    const answers = await Promise.all(
      emails.map(({ id }) => {
        const event = sesEvent('Bounce', { emailId: id }, bounceDetail('Permanent'));
        return api.request('POST', '/webhooks/sns', {
          body: fake.notification({ ...event, bounce: { ...bounceDetail('Permanent') } }),
        });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(emails.map(() => 200));
    expect(await reasonOf(project.id)).toBe('EMAIL_REPUTATION');
  });
});

async function anyContact(projectId: string): Promise<string> {
  const { id } = await api.db
    .selectFrom('contact')
    .select('id')
    .where('project_id', '=', projectId)
    .limit(1)
    .executeTakeFirstOrThrow();
  return id;
}

/** Inserts a waiting execution of a new workflow that starts by an event. */
async function insertExecution(projectId: string, contactId: string, eventName = 'x') {
  const { rows } = await sql<{ id: string }>`
    with made as (
      insert into workflow (project_id, name, enabled, trigger_event_name)
        values (${projectId}, 'w', true, ${eventName}) returning id
    ), step as (
      insert into workflow_step (project_id, workflow_id, type, key, name, position_x, position_y)
        select ${projectId}, id, 'TRIGGER', 'trigger', 't', 0, 0 from made
    ), version as (
      insert into workflow_version (workflow_id, version, project_id, graph)
        select id, 1, ${projectId}, '{}' from made
    )
    insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id, status)
      select ${projectId}, id, 1, 'w', ${contactId}, 'WAITING' from made
      returning id`.execute(api.db);
  return rows[0]!.id;
}
