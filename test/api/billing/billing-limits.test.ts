import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { requireAllowance, takeAllowances } from '../../../db/billing/billing.ts';
import { codeOf } from '../../support/api.ts';
import { useBilling, subscribed } from '../../support/projects/billed-project.ts';
import { insertTestCampaign } from '../../support/projects/mails.ts';
import { writeMail } from '../../support/mail-tables.ts';

const billing = await useBilling();
const { api, billedProject, sent } = billing;

describe('a limit of its own', () => {
  it('holds for its category alone', async () => {
    const project = await billedProject({ ...subscribed, billing_limit_workflows: 1 });
    await sent(project.id, 50, 'CAMPAIGN');
    for (let count = 0; count < 12; count += 1) expect((await project.send()).status).toBe(200);
  });

  it('counts from the moment it is set what was sent before it', async () => {
    const project = await billedProject(subscribed);
    await project.send();
    await project.send();
    expect((await project.put({ transactional: 3 })).status).toBe(200);
    expect((await project.send()).status).toBe(200);
    expect(codeOf(await project.send())).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    await project.put({ transactional: null });
    expect((await project.send()).status).toBe(200);
  });

  it('judges a campaign by the month of its time, or of its first moment', async () => {
    const project = await billedProject();
    for (let count = 0; count < 10; count += 1) await project.send();
    const ask = (path: string, body: object) =>
      api.request('POST', path, { key: project.secretKey, body });
    const made = await ask('/campaigns', {
      name: 'News',
      subject: 'News',
      body: '<p>News</p>',
      from: project.from,
      audienceType: 'ALL',
      messageType: 'TRANSACTIONAL',
    });
    const path = `/campaigns/${made.body.data.id}/send`;
    expect(codeOf(await ask(path, {}))).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    const now = new Date();
    const later = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 15, 9));
    for (const when of [
      { scheduledFor: later.toISOString() },
      { localTime: later.toISOString().slice(0, 16) },
    ]) {
      const planned = await ask(path, when);
      expect(planned.body.data).toMatchObject({
        status: 'SCHEDULED',
        scheduledFor: later.toISOString(),
      });
    }
  });

  it('lets claimed mail leave as far as it goes, each once', async () => {
    const project = await billedProject({ ...subscribed, billing_limit_workflows: 3 });
    await sent(project.id, 1, 'WORKFLOW');
    await writeMail(api.db, (tx) =>
      sql`
      with someone as (
        insert into contact (project_id, email, subscribed)
          values (${project.id}, 'waiting@people.test', true) returning id
      )
      insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
          source_type)
        select ${project.id}, id, 'a@people.test', '', 'a@b.test', 'MARKETING', 'WORKFLOW'
          from someone, generate_series(1, 4)`.execute(tx),
    );
    const claim = () =>
      api.db
        .selectFrom('email')
        .select(['id', 'source_type', 'billed_units', 'allowance_month'])
        .where('project_id', '=', project.id)
        .where('status', '=', 'PENDING')
        .orderBy('id')
        .execute();
    const rules = api.services.config.billing;
    const first = await takeAllowances(api.db, rules, project.id, await claim());
    expect(first.size).toBe(2);
    const again = await takeAllowances(api.db, rules, project.id, await claim());
    expect(again).toEqual(first);
    expect((await takeAllowances(api.db, null, project.id, await claim())).size).toBe(0);
  });

  it.each([
    ['WORKFLOW', 'workflows'],
    ['CAMPAIGN', 'campaigns'],
  ] as const)(
    'set anew counts %s mail that waits with its share, once',
    async (source, category) => {
      const project = await billedProject(subscribed);
      await project.put({ [category]: 4 });
      await sent(project.id, 3, source);
      const mails = await api.db
        .selectFrom('email')
        .select(['id', 'source_type', 'billed_units', 'allowance_month'])
        .where('project_id', '=', project.id)
        .orderBy('id')
        .execute();
      const campaignId =
        source === 'CAMPAIGN'
          ? await insertTestCampaign(api.db, project.id, { status: 'SENDING' })
          : null;
      // Two take their share and wait, for a retry and for an outcome. The third has no share yet.
      await writeMail(api.db, (tx) =>
        sql`update email set status = 'PENDING', sent_at = null
      where project_id = ${project.id}`.execute(tx),
      );
      await writeMail(api.db, (tx) =>
        sql`update email set campaign_id = ${campaignId}
      where id = ${mails[0]!.id}`.execute(tx),
      );
      const rules = api.services.config.billing;
      await takeAllowances(api.db, rules, project.id, mails.slice(0, 2));
      await writeMail(api.db, (tx) =>
        sql`update email set status = 'SENDING', attempt_id = gen_random_uuid(),
      lease_until = now() - interval '1 minute' where id = ${mails[1]!.id}`.execute(tx),
      );
      await project.put({ [category]: 3 });
      const room = (units: number) =>
        requireAllowance(api.db, rules, { projectId: project.id, category, units });
      await room(1);
      await expect(room(2)).rejects.toMatchObject({ code: 'BILLING_LIMIT_EXCEEDED' });
      // One of them fails, and returns its share.
      await writeMail(api.db, (tx) =>
        sql`update email set status = 'FAILED', error = 'refused' where id = ${mails[0]!.id}`.execute(
          tx,
        ),
      );
      await room(2);
      await expect(room(3)).rejects.toMatchObject({ code: 'BILLING_LIMIT_EXCEEDED' });
    },
  );
});

describe('GET billing-limits', () => {
  it('answers limit, usage and how far that is', async () => {
    const project = await billedProject({ ...subscribed, billing_limit_transactional: 5 });
    await sent(project.id, 4, 'TRANSACTIONAL');
    await sent(project.id, 2, 'CAMPAIGN');
    const { status, body } = await project.get('billing-limits');
    const none = { limit: null, usage: 0, percentage: 0, isWarning: false, isBlocked: false };
    expect([status, body]).toEqual([
      200,
      {
        workflows: none,
        campaigns: { ...none, usage: 2 },
        transactional: { limit: 5, usage: 4, percentage: 80, isWarning: true, isBlocked: false },
        inbound: none,
        currency: 'eur',
      },
    ]);
  });

  it('answers the free tier, blocked when all of it is used', async () => {
    const project = await billedProject();
    await sent(project.id, 7, 'CAMPAIGN');
    await sent(project.id, 3, 'WORKFLOW');
    const { body } = await project.get('billing-limits');
    expect(body.currency).toBeNull();
    expect(body.campaigns).toEqual({
      limit: 10,
      usage: 7,
      percentage: 70,
      isWarning: true,
      isBlocked: true,
    });
  });
});

describe('GET billing-limits, with mail that waits', () => {
  it('counts what has taken its share, as a refusal does', async () => {
    const project = await billedProject({ ...subscribed, billing_limit_transactional: 2 });
    const now = new Date();
    // A time later this month, or now at the end of the month.
    const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - 60_000;
    const scheduledFor = new Date(Math.max(end, now.getTime() + 1_000)).toISOString();
    for (let count = 0; count < 2; count += 1) {
      expect((await project.send(undefined, { scheduledFor })).status).toBe(200);
    }
    const refused = await project.send(undefined, { scheduledFor });
    expect(codeOf(refused)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    const { body } = await project.get('billing-limits');
    expect(body.transactional).toEqual({
      limit: 2,
      usage: refused.body.error.details.usage,
      percentage: 100,
      isWarning: true,
      isBlocked: true,
    });
  });
});

describe('PUT billing-limits', () => {
  it('changes what is given and leaves the rest', async () => {
    const project = await billedProject(subscribed);
    await project.put({ workflows: 7, campaigns: 8 });
    const { status, body } = await project.put({ campaigns: null, inbound: 9 });
    expect(status).toBe(200);
    expect([body.workflows.limit, body.campaigns.limit, body.inbound.limit]).toEqual([7, null, 9]);
    const { body: list } = await api.request('GET', '/users/@me/projects', project);
    expect(list[0]).toMatchObject({
      billingLimitWorkflows: 7,
      billingLimitCampaigns: null,
      billingLimitTransactional: null,
      billingLimitInbound: 9,
    });
  });

  it('needs a subscription: 400 SUBSCRIPTION_REQUIRED', async () => {
    const project = await billedProject();
    expect(codeOf(await project.put({ campaigns: 5 }))).toEqual([400, 'SUBSCRIPTION_REQUIRED']);
  });

  it.each([{ campaigns: 0 }, { inbound: 1.5 }, { workflows: '5' }, { transactional: -1 }])(
    'refuses %j with 422',
    async (body) => {
      const project = await billedProject(subscribed);
      const refused = await project.put(body);
      expect([refused.status, refused.body.error.errors[0].field]).toEqual([
        422,
        Object.keys(body)[0],
      ]);
    },
  );
});
