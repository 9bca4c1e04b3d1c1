import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { requireAllowance } from '../../../db/billing/billing.ts';
import { codeOf, useApi } from '../../support/api.ts';
import { useBilling, subscribed } from '../../support/projects/billed-project.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { writeMail } from '../../support/mail-tables.ts';

const billing = await useBilling();
const { api, stripe, billedProject, set, sent } = billing;
beforeEach(() => {
  stripe.requests.length = 0;
});

const files = { attachments: [{ filename: 'a', content: 'aGk=', contentType: 'text/plain' }] };
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
    const bare = await useApi({ FREE_TIER_EMAILS_PER_MONTH: '1' });
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
    const people = Array.from({ length: 11 }, newAddress);
    const refused = await project.send(people);
    expect(codeOf(refused)).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
    expect(await contactsOf(project.id)).toBe(0);
    expect((await project.send(people.slice(1))).body.data.emails).toHaveLength(10);
  });

  it('gives back what has failed', async () => {
    const project = await billedProject();
    for (let count = 0; count < 10; count += 1) await project.send();
    expect((await project.send()).status).toBe(402);
    await writeMail(api.db, (tx) =>
      sql`update email set status = 'FAILED', error = 'refused'
      where id in (select id from email where project_id = ${project.id} limit 2)`.execute(tx),
    );
    expect([(await project.send()).status, (await project.send()).status]).toEqual([200, 200]);
    expect((await project.send()).status).toBe(402);
  });

  it('refuses a campaign to more people than there is left for', async () => {
    const project = await billedProject();
    const call = (method: string, path: string, body?: unknown) =>
      api.request(method, path, { key: project.secretKey, body });
    await sent(project.id, 4);
    for (let count = 0; count < 6; count += 1) {
      await call('POST', '/contacts', { email: newAddress(), subscribed: true });
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

  it('answer 503 when the payment provider is away', async () => {
    const gone = await useFakeStripe();
    await gone.close();
    const lonely = await useApi(gone.environment);
    const project = await billedProject({}, lonely);
    const answer = await project.post('checkout');
    expect(codeOf(answer)).toEqual([503, 'SERVICE_UNAVAILABLE']);
  });
});
