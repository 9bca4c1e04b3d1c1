import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { removeProject } from '../../../db/transactions/projects/delete-project.ts';
import { enableProject } from '../../../db/transactions/projects/suspend-project.ts';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';
import { seedProject } from '../../support/projects/seed.ts';
import { waitFor } from '../../support/wait-for.ts';

const stripe = await useFakeStripe();
const api = await useApi(stripe.environment);

const paths = ['/webhooks/incoming/payments', '/webhooks/incoming/stripe'];
const send = (event: object, path = paths[0] ?? '', given = {}) =>
  api.request('POST', path, stripe.sign(event, given));
const received = { success: true, received: true };

async function customer(more: { subscription?: string; disabled_reason?: string } = {}) {
  const { cookie, email } = await api.signUp();
  const { id } = await api.createProject(cookie);
  const customerId = `cus_${randomUUID()}`;
  await api.db
    .updateTable('project')
    .set({ customer: customerId, ...more })
    .where('id', '=', id)
    .execute();
  const look = async () => (await api.request('GET', '/users/@me/projects', { cookie })).body[0];
  return { id, cookie, email, customer: customerId, look };
}

const about = (type: string, object: object) => ({ type, data: { object } });

describe('the signature', () => {
  it('is missing: 400 MISSING_SIGNATURE', async () => {
    for (const path of paths) {
      const { status, body } = await api.request('POST', path, { body: {} });
      expect([status, body.error.code]).toEqual([400, 'MISSING_SIGNATURE']);
    }
  });

  it.each([
    ['made with another secret', { secret: 'whsec_of_somebody_else' }],
    ['older than five minutes', { at: new Date(Date.now() - 301_000) }],
  ])('is %s: 400 INVALID_SIGNATURE', async (_, given) => {
    const project = await customer();
    const event = about('invoice.payment_failed', { customer: project.customer });
    const { status, body } = await send(event, paths[0], given);
    expect([status, body.error.code]).toEqual([400, 'INVALID_SIGNATURE']);
    expect((await project.look()).disabled).toBe(false);
  });

  it('is of another body: 400 INVALID_SIGNATURE', async () => {
    const { body, headers } = stripe.sign(about('invoice.paid', { customer: 'cus_1' }));
    const changed = await api.request('POST', paths[0] ?? '', {
      headers,
      body: body.replace('cus_1', 'cus_2'),
    });
    expect([changed.status, changed.body.error.code]).toEqual([400, 'INVALID_SIGNATURE']);
  });

  it('is of the bytes as they were sent, whatever their white space', async () => {
    const signed = stripe.sign({ type: 'invoice.paid', data: { object: { customer: 'é  x' } } });
    expect((await api.request('POST', paths[0] ?? '', signed)).status).toBe(200);
  });
});

describe('an event', () => {
  it.each(paths)('is accepted at %s, also with an unknown type', async (path) => {
    for (const type of ['invoice.paid', 'customer.created', 'no.such.type']) {
      const { status, body } = await send(about(type, { customer: 'cus_nobody' }), path);
      expect([status, body]).toEqual([200, received]);
    }
  });

  it('has effect once, however often it comes', async () => {
    const project = await customer();
    const event = {
      id: `evt_${randomUUID()}`,
      ...about('invoice.payment_failed', {
        customer: project.customer,
        next_payment_attempt: null,
      }),
    };
    await send(event);
    expect((await project.look()).disabledReason).toBe('PAYMENT_FAILED');
    await send(about('invoice.paid', { customer: project.customer }));
    expect((await project.look()).disabled).toBe(false);
    expect((await send(event, paths[1])).body).toEqual(received);
    expect((await project.look()).disabled).toBe(false);
  });

  it('answers 404 BILLING_DISABLED without a payment provider', async () => {
    const bare = await useApi();
    const answers = await Promise.all(
      paths.map((path) => bare.request('POST', path, { body: {} })),
    );
    for (const { status, body } of answers) {
      expect([status, body.error.code]).toEqual([404, 'BILLING_DISABLED']);
    }
  });
});

describe('a signed body', () => {
  const answerTo = async (signed: ReturnType<typeof stripe.sign>) => {
    const { status, body } = await api.request('POST', paths[0] ?? '', signed);
    return [status, body.error?.code ?? null];
  };

  it.each(['', 'not json', 'null', '[]', '{}', '5', '{"type":5}', '{"type":""}', '{"id":"evt_1"}'])(
    'is refused with 400 INVALID_NOTIFICATION when it is %j',
    async (body) => {
      expect(await answerTo(stripe.signBody(body))).toEqual([400, 'INVALID_NOTIFICATION']);
    },
  );

  const known = [
    'checkout.session.completed',
    'invoice.paid',
    'invoice.payment_failed',
    'customer.subscription.updated',
    'customer.subscription.deleted',
    'radar.early_fraud_warning.created',
  ];

  it.each(known)('is refused with 400 when %s lacks what it is about', async (type) => {
    const data = [undefined, null, {}, [], 'x', { object: null }, { object: [] }, { object: {} }];
    const customers = [5, '', {}, 'c'.repeat(256), 'cus_\0', 'cus_\ud800'];
    const lacking = [
      ...data,
      ...customers.map((customer) => ({ object: { id: 'x_1', customer, charge: customer } })),
    ];
    for (const given of lacking) {
      const answer = await answerTo(stripe.sign({ type, data: given }));
      expect([given, ...answer]).toEqual([given, 400, 'INVALID_NOTIFICATION']);
    }
  });

  it.each([
    ['invoice.paid', {}, 'data.object.customer'],
    ['customer.subscription.updated', { customer: 'cus_1' }, 'data.object.id'],
    ['radar.early_fraud_warning.created', { charge: 5 }, 'data.object.charge'],
  ])('of %s names the path of the id that it lacks', async (type, object, path) => {
    const { body } = await api.request(
      'POST',
      paths[0] ?? '',
      stripe.sign({ type, data: { object } }),
    );
    expect(body.error.message).toBe(
      `\`${path}\` of the event is missing, or is not an id of Stripe.`,
    );
  });

  it.each([null, 5, '', 'e'.repeat(3000), 'evt_\0'])(
    'is refused with 400 when the id of a known event is %j',
    async (id) => {
      const event = { id, ...about('invoice.paid', { customer: 'cus_nobody' }) };
      expect(await answerTo(stripe.sign(event))).toEqual([400, 'INVALID_NOTIFICATION']);
    },
  );

  it.each([...known, 'v1.billing.meter.error_report_triggered', 'v2.core.account.created'])(
    'is received without effect when it is a thin event of the type %s',
    async (type) => {
      const event = { object: 'v2.core.event', type, related_object: null };
      expect(await answerTo(stripe.sign(event))).toEqual([200, null]);
    },
  );

  it('is accepted without effect when its type is unknown', async () => {
    for (const more of [{}, { id: null }, { data: null }, { data: { object: 5 } }]) {
      expect(await answerTo(stripe.sign({ type: 'x.y', ...more }))).toEqual([200, null]);
    }
  });

  it('is received without effect when its object has no customer', async () => {
    for (const type of known.slice(0, 3)) {
      const event = about(type, { id: 'x_1', customer: null });
      expect(await answerTo(stripe.sign(event))).toEqual([200, null]);
    }
  });
});

describe('checkout.session.completed', () => {
  it('stores customer and subscription on the project of its metadata', async () => {
    stripe.subscriptions.set('sub_new', 'active');
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await send(
      about('checkout.session.completed', {
        customer: 'cus_new',
        subscription: 'sub_new',
        metadata: { projectId: id },
      }),
    );
    const { body } = await api.request('GET', '/users/@me/projects', { cookie });
    expect(body).toMatchObject([{ customer: 'cus_new', subscription: 'sub_new' }]);
  });

  it('that comes late makes a customer, and no subscriber of a subscription that has ended', async () => {
    stripe.subscriptions.set('sub_over', 'canceled');
    const { cookie } = await api.signUp();
    const { id } = await api.createProject(cookie);
    await send(
      about('checkout.session.completed', {
        customer: 'cus_over',
        subscription: 'sub_over',
        metadata: { projectId: id },
      }),
    );
    const { body } = await api.request('GET', '/users/@me/projects', { cookie });
    expect(body).toMatchObject([{ customer: 'cus_over', subscription: null }]);
  });

  it('of no project, or of another shop, has no effect', async () => {
    for (const metadata of [{}, { projectId: randomUUID() }, { projectId: 'x' }, null]) {
      const { status } = await send(
        about('checkout.session.completed', { customer: 'cus_x', subscription: 'sub_x', metadata }),
      );
      expect(status).toBe(200);
    }
  });
});

describe('a removed project', () => {
  it('stays disabled', async () => {
    const { id } = await customer({ disabled_reason: 'PAYMENT_FAILED' });
    await api.db.transaction().execute((tx) => removeProject(tx, id));
    expect(await enableProject(api.db, id, 'PAYMENT_FAILED')).toBe(false);
  });
});

describe('invoice.payment_failed', () => {
  const failed = (project: { customer: string }, more: object) =>
    send(about('invoice.payment_failed', { customer: project.customer, ...more }));

  it('with another try to come leaves the project enabled', async () => {
    const project = await customer();
    await failed(project, { next_payment_attempt: 1_800_000_000 });
    expect((await project.look()).disabled).toBe(false);
  });

  it('with another try to come is mailed to the administrators, where mail can be sent', async () => {
    const project = await customer();
    const mails = () =>
      api.db
        .selectFrom('system_mail')
        .select('to_email')
        .where('to_email', '=', project.email)
        .execute();
    await failed(project, { next_payment_attempt: 1_800_000_000 });
    expect(await mails()).toEqual([]);
    api.services.config.platformFrom = 'noreply@platform.test';
    await failed(project, { next_payment_attempt: 1_800_000_000 });
    api.services.config.platformFrom = null;
    expect(await mails()).toHaveLength(1);
    expect(api.dispatched.at(-1)).toMatch(/^platform-mail-/);
  });

  it('for the last time disables it with PAYMENT_FAILED and stops what is at work', async () => {
    const project = await customer();
    const seed = await seedProject(api.db, project.id, `p${randomUUID()}`);
    api.dispatched.length = 0;
    await failed(project, { next_payment_attempt: null });
    expect(await project.look()).toMatchObject({
      disabled: true,
      disabledReason: 'PAYMENT_FAILED',
    });
    const execution = await api.db
      .selectFrom('execution')
      .select(['status', 'exit_reason'])
      .where('id', '=', seed.executionId)
      .executeTakeFirstOrThrow();
    expect(execution).toEqual({ status: 'CANCELLED', exit_reason: 'project_disabled' });
    const email = await api.db
      .selectFrom('email')
      .select(['status', 'error'])
      .where('id', '=', seed.emailId)
      .executeTakeFirstOrThrow();
    // The mail fails when it is due, unless the project has paid by then.
    expect(email).toEqual({ status: 'PENDING', error: null });
    expect(api.dispatched).toContain(`execution-${seed.executionId}`);
  });

  it('that comes after the invoice was paid has no effect', async () => {
    const project = await customer();
    stripe.invoices.set('in_7', 'paid');
    await failed(project, { id: 'in_7', next_payment_attempt: null });
    expect((await project.look()).disabled).toBe(false);
    stripe.invoices.set('in_7', 'open');
    await failed(project, { id: 'in_7', next_payment_attempt: null });
    expect((await project.look()).disabledReason).toBe('PAYMENT_FAILED');
  });

  it('of the first invoice has no effect, because there is no subscription yet', async () => {
    const project = await customer();
    await failed(project, { billing_reason: 'subscription_create', next_payment_attempt: null });
    expect((await project.look()).disabled).toBe(false);
  });
});

describe('invoice.paid', () => {
  it('enables a project that was disabled for money, and no other', async () => {
    const poor = await customer({ disabled_reason: 'PAYMENT_FAILED' });
    const bad = await customer({ disabled_reason: 'PHISHING_DETECTED' });
    for (const project of [poor, bad]) {
      await send(about('invoice.paid', { customer: project.customer }));
    }
    expect((await poor.look()).disabledReason).toBeNull();
    expect((await bad.look()).disabledReason).toBe('PHISHING_DETECTED');
  });
});

describe('the subscription', () => {
  it('is stored when it is updated, and goes with its limits when it has ended', async () => {
    const endings = [
      ['customer.subscription.deleted', 'canceled'],
      ['customer.subscription.updated', 'unpaid'],
      ['customer.subscription.updated', 'canceled'],
      ['customer.subscription.updated', 'incomplete'],
      ['customer.subscription.updated', 'incomplete_expired'],
      ['customer.subscription.updated', 'paused'],
    ] as const;
    for (const [type, status] of endings) {
      const project = await customer();
      const object = { id: 'sub_9', customer: project.customer, status: 'active' };
      stripe.subscriptions.set('sub_9', 'active');
      await send(about('customer.subscription.updated', object));
      await api.db
        .updateTable('project')
        .set({ billing_limit_campaigns: 5 })
        .where('id', '=', project.id)
        .execute();
      expect(await project.look()).toMatchObject({
        subscription: 'sub_9',
        billingLimitCampaigns: 5,
      });
      stripe.subscriptions.set('sub_9', status);
      await send(about(type, { ...object, status }));
      expect(await project.look()).toMatchObject({
        subscription: null,
        billingLimitCampaigns: null,
        customer: project.customer,
      });
    }
  });

  it.each(['trialing', 'past_due'])('stays while it is %s', async (status) => {
    const project = await customer({ subscription: 'sub_on' });
    stripe.subscriptions.set('sub_on', status);
    const object = { id: 'sub_on', customer: project.customer, status };
    await send(about('customer.subscription.updated', object));
    expect((await project.look()).subscription).toBe('sub_on');
  });

  it('is what it is now, not what a late event says of it', async () => {
    const project = await customer({ subscription: 'sub_8' });
    const tell = (name: string, status: string) =>
      send(
        about(`customer.subscription.${name}`, {
          id: 'sub_8',
          customer: project.customer,
          status,
        }),
      );
    stripe.subscriptions.set('sub_8', 'canceled');
    await tell('deleted', 'canceled');
    expect((await tell('updated', 'active')).status).toBe(200);
    expect((await project.look()).subscription).toBeNull();
    stripe.subscriptions.set('sub_8', 'active');
    await tell('updated', 'active');
    await tell('updated', 'unpaid');
    expect((await project.look()).subscription).toBe('sub_8');
  });

  it('ends when an answer about it is on its way that was made before', async () => {
    stripe.subscriptions.set('sub_7', 'active');
    const project = await customer();
    const object = { id: 'sub_7', customer: project.customer, status: 'active' };
    const gate = { open: () => {} };
    stripe.answersAfter = new Promise((resolve) => (gate.open = resolve));
    const asked = stripe.requests.length;
    const updated = send(about('customer.subscription.updated', object));
    await waitFor('the question', () => stripe.requests.length > asked);
    stripe.subscriptions.set('sub_7', 'canceled');
    const deleted = send(about('customer.subscription.deleted', object));
    await waitFor('the other event to wait', async () => {
      const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(
        api.db,
      );
      return rows.length > 0;
    });
    gate.open();
    expect([(await updated).status, (await deleted).status]).toEqual([200, 200]);
    expect((await project.look()).subscription).toBeNull();
  });

  it('cannot be asked for: 503, nothing changes, and the event counts when it comes again', async () => {
    const away = await useApi({
      ...stripe.environment,
      STRIPE_API_BASE: 'http://127.0.0.1:9',
    });
    const object = { id: 'sub_6', customer: 'cus_6', status: 'active' };
    const event = { id: `evt_${randomUUID()}`, ...about('customer.subscription.updated', object) };
    const { status, body } = await away.request('POST', paths[0] ?? '', stripe.sign(event));
    const receipts = await away.db.selectFrom('payment_receipt').selectAll().execute();
    expect([status, body.error.code, receipts]).toEqual([503, 'SERVICE_UNAVAILABLE', []]);
  });

  it('stays when an older one ends', async () => {
    const project = await customer({ subscription: 'sub_new' });
    await send(
      about('customer.subscription.deleted', { id: 'sub_old', customer: project.customer }),
    );
    expect((await project.look()).subscription).toBe('sub_new');
  });
});

describe('radar.early_fraud_warning.created', () => {
  it('disables the project of the card with CARD_VERIFICATION_FAILED', async () => {
    const project = await customer();
    await api.db
      .updateTable('project')
      .set({ customer: 'cus_fraud' })
      .where('id', '=', project.id)
      .execute();
    await send(about('radar.early_fraud_warning.created', { charge: 'ch_1' }));
    expect((await project.look()).disabledReason).toBe('CARD_VERIFICATION_FAILED');
  });
});
