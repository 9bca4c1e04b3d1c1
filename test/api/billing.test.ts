import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { takeAllowances, requireAllowance } from '../../db/billing.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { type FakeStripe, startFakeStripe } from '../support/fake-stripe.ts';
import { insertTestCampaign } from '../support/mails.ts';

let api: TestApi;
let stripe: FakeStripe;
beforeAll(async () => {
  stripe = await startFakeStripe();
  api = await startTestApi({ ...stripe.environment, FREE_TIER_EMAILS_PER_MONTH: '10' });
});
afterAll(async () => {
  await api.close();
  await stripe.close();
});
beforeEach(() => {
  stripe.requests.length = 0;
});

interface Columns {
  customer?: string;
  subscription?: string;
  billing_limit_transactional?: number;
  billing_limit_workflows?: number;
  disabled_reason?: string;
}

/** A project with a verified domain; `columns` are set straight in the database. */
async function billedProject(columns: Columns = {}, on = api) {
  const { cookie, email } = await on.signUp();
  const project = await on.createProject(cookie);
  const domain = `${randomUUID()}.test`;
  await on.request('POST', '/domains', { key: project.secretKey, body: { domain } });
  await set(project.id, columns, on);
  const path = `/users/@me/projects/${project.id}`;
  const mail = { from: `team@${domain}`, subject: 'Hi', body: 'Hi' };
  return {
    ...project,
    cookie,
    email,
    from: mail.from,
    get: (what: string) => on.request('GET', `${path}/${what}`, { cookie }),
    put: (body: object) => on.request('PUT', `${path}/billing-limits`, { cookie, body }),
    post: (what: string) => on.request('POST', `${path}/${what}`, { cookie }),
    send: (to: unknown = `${randomUUID()}@people.test`, more: object = {}) =>
      on.request('POST', '/v1/send', { key: project.secretKey, body: { ...mail, to, ...more } }),
  };
}

const set = async (id: string, columns: Columns, on = api) => {
  if (Object.keys(columns).length === 0) return;
  await on.db.updateTable('project').set(columns).where('id', '=', id).execute();
};
const subscribed = { customer: 'cus_1', subscription: 'sub_1' };
const files = { attachments: [{ filename: 'a', content: 'aGk=', contentType: 'text/plain' }] };
const codeOf = (answer: { status: number; body: { error?: { code: string } } }) => [
  answer.status,
  answer.body.error?.code,
];
const sent = (projectId: string, count: number, source = 'CAMPAIGN', on = api) =>
  sql`
    with someone as (
      insert into contact (project_id, email, subscribed)
        values (${projectId}, gen_random_uuid() || '@people.test', true) returning id
    )
    insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
        source_type, status, sent_at)
      select ${projectId}, someone.id, 'a@people.test', '', 'a@b.test', 'MARKETING', ${source},
          'SENT', now()
        from someone, generate_series(1, ${count}::int)`.execute(on.db);
const contactsOf = async (projectId: string) => {
  const { count } = await api.db
    .selectFrom('contact')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return count;
};

describe('without a payment provider', () => {
  it('every billing endpoint answers 404 BILLING_DISABLED, and nothing is capped', async () => {
    const bare = await startTestApi({ FREE_TIER_EMAILS_PER_MONTH: '1' });
    const project = await billedProject({}, bare);
    const answers = [
      await project.post('checkout'),
      await project.post('billing-portal'),
      await project.get('billing-limits'),
      await project.put({ campaigns: 0 }),
      await project.get('billing-consumption'),
      await project.get('billing-invoices'),
    ];
    const config = await bare.request('GET', '/config');
    await sent(project.id, 1_000, 'TRANSACTIONAL', bare);
    const more = await project.send();
    await bare.close();
    for (const answer of answers) expect(codeOf(answer)).toEqual([404, 'BILLING_DISABLED']);
    expect(config.body.features.billing).toEqual({ enabled: false });
    expect(more.status).toBe(200);
  });
});

describe('the free tier', () => {
  it('ends with 402 BILLING_LIMIT_EXCEEDED: nothing is sent and no contact made', async () => {
    const project = await billedProject();
    for (let count = 0; count < 10; count += 1) expect((await project.send()).status).toBe(200);
    const before = await contactsOf(project.id);
    const refused = await project.send();
    expect(codeOf(refused)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(refused.body.error.details).toEqual({ category: 'transactional', limit: 10, usage: 10 });
    expect(await contactsOf(project.id)).toBe(before);
  });

  it('is one for all categories', async () => {
    const project = await billedProject();
    await sent(project.id, 6, 'CAMPAIGN');
    await sent(project.id, 3, 'WORKFLOW');
    expect((await project.send()).status).toBe(200);
    expect((await project.send()).status).toBe(402);
    const campaign = { projectId: project.id, category: 'campaigns', units: 1 } as const;
    const rules = api.services.config.billing;
    await expect(requireAllowance(api.db, rules, campaign)).rejects.toMatchObject({
      code: 'BILLING_LIMIT_EXCEEDED',
    });
  });

  it('counts a mail with files twice', async () => {
    const project = await billedProject();
    for (let count = 0; count < 5; count += 1) {
      expect((await project.send(undefined, files)).status).toBe(200);
    }
    expect((await project.send()).status).toBe(402);
  });

  it('sends to all of several recipients or to none', async () => {
    const project = await billedProject();
    const people = Array.from({ length: 11 }, () => `${randomUUID()}@people.test`);
    const refused = await project.send(people);
    expect(codeOf(refused)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(await contactsOf(project.id)).toBe(0);
    expect((await project.send(people.slice(1))).body.data.emails).toHaveLength(10);
  });

  it('gives back what has failed', async () => {
    const project = await billedProject();
    for (let count = 0; count < 10; count += 1) await project.send();
    expect((await project.send()).status).toBe(402);
    await sql`update email set status = 'FAILED'
      where id in (select id from email where project_id = ${project.id} limit 2)`.execute(api.db);
    expect([(await project.send()).status, (await project.send()).status]).toEqual([200, 200]);
    expect((await project.send()).status).toBe(402);
  });

  it('refuses a campaign to more people than there is left for', async () => {
    const project = await billedProject();
    const call = (method: string, path: string, body?: unknown) =>
      api.request(method, path, { key: project.secretKey, body });
    await sent(project.id, 4);
    for (let count = 0; count < 6; count += 1) {
      await call('POST', '/contacts', { email: `${randomUUID()}@people.test`, subscribed: true });
    }
    const made = await call('POST', '/campaigns', {
      name: 'News',
      subject: 'News',
      body: 'News',
      from: project.from,
      audienceType: 'ALL',
    });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const refused = await call('POST', `/campaigns/${made.body.data.id}/send`, {});
    expect(codeOf(refused)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(refused.body.error.details).toEqual({ category: 'campaigns', limit: 10, usage: 4 });
    const { body } = await call('GET', `/campaigns/${made.body.data.id}`);
    expect(body.data.status).toBe('DRAFT');
  });

  it('is never passed, not even by a hundred sends at once', async () => {
    const project = await billedProject();
    await sent(project.id, 3, 'WORKFLOW');
    const answers = await Promise.all(Array.from({ length: 100 }, () => project.send()));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(7);
    expect(statuses.filter((status) => status === 402)).toHaveLength(93);
  });
});

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

  it('lets claimed mail leave as far as it goes, each once', async () => {
    const project = await billedProject({ ...subscribed, billing_limit_workflows: 3 });
    await sent(project.id, 1, 'WORKFLOW');
    await sql`
      with someone as (
        insert into contact (project_id, email, subscribed)
          values (${project.id}, 'waiting@people.test', true) returning id
      )
      insert into email (project_id, contact_id, to_email, subject, from_email, message_class,
          source_type)
        select ${project.id}, id, 'a@people.test', '', 'a@b.test', 'MARKETING', 'WORKFLOW'
          from someone, generate_series(1, 4)`.execute(api.db);
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
      // Two take their share and wait: for a retry, and for an outcome. The third has none yet.
      await sql`update email set status = 'PENDING', sent_at = null
      where project_id = ${project.id}`.execute(api.db);
      await sql`update email set campaign_id = ${campaignId}
      where id = ${mails[0]!.id}`.execute(api.db);
      const rules = api.services.config.billing;
      await takeAllowances(api.db, rules, project.id, mails.slice(0, 2));
      await sql`update email set status = 'SENDING', attempt_id = gen_random_uuid(),
      lease_until = now() where id = ${mails[1]!.id}`.execute(api.db);
      await project.put({ [category]: 3 });
      const room = (units: number) =>
        requireAllowance(api.db, rules, { projectId: project.id, category, units });
      await room(1);
      await expect(room(2)).rejects.toMatchObject({ code: 'BILLING_LIMIT_EXCEEDED' });
      // One of them fails, and gives back its own share.
      await sql`update email set status = 'FAILED' where id = ${mails[0]!.id}`.execute(api.db);
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

describe('checkout and portal', () => {
  it('answer where to go', async () => {
    const project = await billedProject();
    const { status, body } = await project.post('checkout?currency=eur');
    expect([status, body]).toEqual([200, { url: 'https://checkout.stripe.test/cs_1' }]);
    expect(stripe.requests[0]).toMatchObject({
      path: '/v1/checkout/sessions',
      form: {
        mode: 'subscription',
        currency: 'eur',
        customer_email: project.email,
        'metadata[projectId]': project.id,
        'subscription_data[metadata][projectId]': project.id,
        'line_items[0][price]': 'price_onboarding',
        'line_items[1][price]': 'price_usage',
      },
    });
    await set(project.id, { customer: 'cus_1' });
    expect((await project.post('billing-portal')).body).toEqual({
      url: 'https://portal.stripe.test/bps_1',
    });
  });

  it('refuse what does not fit', async () => {
    const project = await billedProject(subscribed);
    expect(codeOf(await project.post('checkout'))).toEqual([400, 'SUBSCRIPTION_EXISTS']);
    expect((await project.post('checkout?currency=chf')).status).toBe(422);
    const free = await billedProject();
    expect(codeOf(await free.post('billing-portal'))).toEqual([400, 'CUSTOMER_REQUIRED']);
  });

  it('work in a disabled project: who has not paid must be able to', async () => {
    const project = await billedProject({ customer: 'cus_1', disabled_reason: 'PAYMENT_FAILED' });
    expect((await project.post('checkout')).status).toBe(200);
    expect((await project.post('billing-portal')).status).toBe(200);
    expect(codeOf(await project.put({ campaigns: 1 }))).toEqual([403, 'PROJECT_DISABLED']);
  });

  it('are for administrators', async () => {
    const project = await billedProject({ customer: 'cus_1' });
    const member = await api.signUp();
    await api.db
      .insertInto('membership')
      .values({ project_id: project.id, user_id: member.userId, role: 'MEMBER' })
      .execute();
    for (const what of ['checkout', 'billing-portal']) {
      const refused = await api.request(
        'POST',
        `/users/@me/projects/${project.id}/${what}`,
        member,
      );
      expect(codeOf(refused)).toEqual([403, 'INSUFFICIENT_ROLE']);
    }
  });

  it('answer 503 when the payment provider is away', async () => {
    const gone = await startFakeStripe();
    await gone.close();
    const lonely = await startTestApi(gone.environment);
    const project = await billedProject({}, lonely);
    const answer = await project.post('checkout');
    await lonely.close();
    expect(codeOf(answer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
  });
});

describe('GET billing-consumption', () => {
  it('answers usage by day and category, credits and the next invoice', async () => {
    const project = await billedProject(subscribed);
    await sent(project.id, 3, 'CAMPAIGN');
    await sent(project.id, 2, 'TRANSACTIONAL');
    await sql`update email set sent_at = '2026-11-05T23:59:59Z'
      where project_id = ${project.id} and source_type = 'CAMPAIGN'`.execute(api.db);
    await sql`update email set sent_at = '2026-10-31T23:59:59Z'
      where project_id = ${project.id} and source_type = 'TRANSACTIONAL'`.execute(api.db);
    const { status, body } = await project.get('billing-consumption');
    expect([status, body]).toEqual([
      200,
      {
        period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
        usage: { total: 3, records: [{ date: '2026-11-05', category: 'campaigns', count: 3 }] },
        credits: { balance: 300, hasCredits: true, creditAmount: 500, currency: 'eur' },
        upcomingInvoice: {
          amountDue: 1250,
          currency: 'eur',
          periodStart: '2026-11-01T00:00:00.000Z',
          periodEnd: '2026-12-01T00:00:00.000Z',
          subtotal: 1000,
          total: 1250,
        },
      },
    ]);
  });

  it('answers the month in UTC and no money without a subscription', async () => {
    const { status, body } = await (await billedProject()).get('billing-consumption');
    expect(status).toBe(200);
    expect(body).toMatchObject({ usage: { total: 0 }, credits: null, upcomingInvoice: null });
    expect(body.period.start).toMatch(/-01T00:00:00\.000Z$/);
  });
});

describe('GET billing-invoices', () => {
  it('answers the invoices and which are unpaid', async () => {
    const project = await billedProject({ customer: 'cus_1' });
    const { status, body } = await project.get('billing-invoices');
    expect(status).toBe(200);
    expect(
      body.invoices.map((each: { id: string; paid: boolean }) => [each.id, each.paid]),
    ).toEqual([
      ['in_2', false],
      ['in_1', true],
    ]);
    expect(Object.keys(body.invoices[0]).toSorted()).toEqual(
      [
        'id',
        'number',
        'status',
        'amountDue',
        'amountPaid',
        'currency',
        'created',
        'periodStart',
        'periodEnd',
        'hostedInvoiceUrl',
        'invoicePdf',
        'subtotal',
        'total',
        'paid',
      ].toSorted(),
    );
    expect(body.hasUnpaidInvoices).toBe(true);
    expect(body.unpaidInvoices).toEqual([
      {
        id: 'in_2',
        number: 'E-2',
        amountDue: 1250,
        currency: 'eur',
        dueDate: '2026-12-01T00:00:00.000Z',
        hostedInvoiceUrl: 'https://invoice.stripe.test/1',
      },
    ]);
  });

  it('answers none without a customer', async () => {
    const { body } = await (await billedProject()).get('billing-invoices');
    expect(body).toEqual({ invoices: [], hasUnpaidInvoices: false, unpaidInvoices: [] });
  });
});
