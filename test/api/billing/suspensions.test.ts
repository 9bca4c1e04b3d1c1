import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { disableProject } from '../../../db/transactions/projects/suspend-project.ts';
import { useApi } from '../../support/api.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';

/** Several reasons that disable a project, in any order. */

const stripe = await useFakeStripe();
const api = await useApi(stripe.environment);

async function useProject() {
  const { cookie } = await api.signUp();
  const { id } = await api.createProject(cookie);
  const [customer, subscription] = [`cus_${randomUUID()}`, `sub_${randomUUID().slice(0, 8)}`];
  stripe.subscriptions.set(subscription, 'active');
  await api.db
    .updateTable('project')
    .set({ customer, subscription })
    .where('id', '=', id)
    .execute();
  const send = async (type: string, object: object) => {
    const { status } = await api.request(
      'POST',
      '/webhooks/incoming/payments',
      stripe.sign({ type, data: { object: { customer, ...object } } }),
    );
    expect(status).toBe(200);
  };
  const ofSubscription = (named: string) => ({
    billing_reason: 'subscription_cycle',
    parent: { type: 'subscription_details', subscription_details: { subscription: named } },
  });
  const invoice = (type: string, invoiceId: string, more: object = ofSubscription(subscription)) =>
    send(`invoice.${type}`, { id: invoiceId, next_payment_attempt: null, ...more });
  return {
    id,
    subscription,
    send,
    invoice,
    ofSubscription,
    operator: (reason: string | null) =>
      api.db.updateTable('project').set({ disabled_reason: reason }).where('id', '=', id).execute(),
    async shown() {
      const row = await api.db
        .selectFrom('project')
        .select('disabled_reason')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      return row.disabled_reason;
    },
    async open() {
      const { body } = await api.request('GET', `/users/@me/projects/${id}/security`, { cookie });
      return body.suspensions.flatMap(({ reason, endedAt }: Record<string, unknown>) =>
        endedAt === null ? [reason] : [],
      );
    },
  };
}

const newInvoice = () => `in_${randomUUID().slice(0, 8)}`;
const fraud = (charge = 'ch_9') => ['radar.early_fraud_warning.created', { charge }] as const;

describe('a fraud warning while payment has failed', () => {
  it('is shown, and outlives the payment', async () => {
    const { send, shown, open, operator, invoice } = await useProject();
    const failed = newInvoice();
    await invoice('payment_failed', failed);
    const charge = { id: 'ch_1' };
    await send('radar.early_fraud_warning.created', { charge });
    expect([await shown(), (await open()).length]).toEqual(['CARD_VERIFICATION_FAILED', 2]);
    await invoice('paid', newInvoice());
    expect([await shown(), await open()]).toEqual([
      'CARD_VERIFICATION_FAILED',
      ['CARD_VERIFICATION_FAILED'],
    ]);
    await operator(null);
    expect(await shown()).toBeNull();
  });

  it('is lifted by the operator alone, and then payment is still owed', async () => {
    const { send, shown, invoice, operator } = await useProject();
    const failed = newInvoice();
    await send(...fraud());
    await invoice('payment_failed', failed);
    expect(await shown()).toBe('CARD_VERIFICATION_FAILED');
    await operator(null);
    expect(await shown()).toBe('PAYMENT_FAILED');
    await invoice('paid', failed);
    expect(await shown()).toBeNull();
  });
});

describe('an invoice', () => {
  it.each([
    ['of another subscription', { parent: { subscription_details: { subscription: 'sub_x' } } }],
    ['of another subscription, as old versions name it', { subscription: 'sub_x' }],
    ['of no subscription', { parent: null, billing_reason: 'manual' }],
    ['of no subscription, without a reason', { parent: null }],
    ['of no subscription, as old versions say it', { subscription: null }],
    ['of a quote', { billing_reason: 'quote_accept', parent: { quote_details: { quote: 'q' } } }],
  ])('%s neither disables nor enables', async (_, more) => {
    const { shown, invoice } = await useProject();
    await invoice('payment_failed', newInvoice(), more);
    expect(await shown()).toBeNull();
    await invoice('payment_failed', newInvoice());
    for (const type of ['paid', 'voided', 'marked_uncollectible']) {
      await invoice(type, newInvoice(), more);
      expect([type, await shown()]).toEqual([type, 'PAYMENT_FAILED']);
    }
  });

  it.each(['paid', 'voided', 'marked_uncollectible'])(
    'that has failed and is %s enables the project',
    async (type) => {
      const { shown, invoice } = await useProject();
      const id = newInvoice();
      await invoice('payment_failed', id);
      await invoice(type, id);
      expect(await shown()).toBeNull();
    },
  );

  it.each(['voided', 'marked_uncollectible'])(
    'that was not the one that failed and is %s changes nothing',
    async (type) => {
      const { shown, invoice } = await useProject();
      await invoice('payment_failed', newInvoice());
      await invoice(type, newInvoice());
      expect(await shown()).toBe('PAYMENT_FAILED');
    },
  );

  it.each(['paid', 'void', 'uncollectible'])(
    'that was %s before its failure is told does not disable',
    async (status) => {
      const { shown, invoice } = await useProject();
      const id = newInvoice();
      stripe.invoices.set(id, status);
      await invoice('payment_failed', id);
      expect(await shown()).toBeNull();
    },
  );

  it('that is still owed keeps the project disabled when another one is paid', async () => {
    const { shown, invoice } = await useProject();
    const [first, second] = [newInvoice(), newInvoice()];
    stripe.invoices.set(first, 'open').set(second, 'open');
    await invoice('payment_failed', first);
    await invoice('payment_failed', second);
    await invoice('paid', second);
    expect(await shown()).toBe('PAYMENT_FAILED');
    await invoice('voided', first);
    expect(await shown()).toBeNull();
  });

  it('of the subscription that has ended counts, whichever event comes first', async () => {
    const { shown, send, invoice, subscription } = await useProject();
    await send('customer.subscription.deleted', { id: subscription });
    const id = newInvoice();
    await invoice('payment_failed', id);
    expect(await shown()).toBe('PAYMENT_FAILED');
    await invoice('paid', id);
    expect(await shown()).toBeNull();
  });
});

/** The strongest reason comes first. */
const strengths = [
  'MANUAL',
  'PHISHING_DETECTED',
  'CARD_VERIFICATION_FAILED',
  'EMAIL_REPUTATION',
  'PAYMENT_FAILED',
];

const invoices = ['a', 'b'] as const;
const step = fc.oneof(
  fc.record({
    does: fc.constantFrom('payment_failed', 'paid', 'voided', 'marked_uncollectible'),
    invoice: fc.constantFrom(...invoices),
    isOwn: fc.constantFrom(true, true, true, false),
  }),
  fc.record({
    does: fc.constantFrom('fraud', 'reputation', 'MANUAL', 'PHISHING_DETECTED', 'lift'),
  }),
);
const settledAs = { paid: 'paid', voided: 'void', marked_uncollectible: 'uncollectible' } as const;

describe('reasons in any order', () => {
  it(
    'are each lifted by their own remedy, and the strongest is shown',
    { timeout: 120_000 },
    async () => {
      const steps = fc.array(step, { minLength: 1, maxLength: 10 });
      await fc.assert(
        fc.asyncProperty(steps, async (played) => {
          const project = await useProject();
          const ids = { a: newInvoice(), b: newInvoice() };
          const [reasons, owed, settled] = [
            new Set<string>(),
            new Set<string>(),
            new Set<string>(),
          ];
          const shown = () => strengths.find((reason) => reasons.has(reason)) ?? null;
          for (const one of played) {
            if ('invoice' in one) {
              const id = ids[one.invoice];
              const own = project.ofSubscription(one.isOwn ? project.subscription : 'sub_other');
              const isFailure = one.does === 'payment_failed';
              if (one.isOwn && isFailure && !settled.has(id)) {
                stripe.invoices.set(id, 'open');
                owed.add(id);
                reasons.add('PAYMENT_FAILED');
              } else if (one.isOwn && !isFailure) {
                stripe.invoices.set(id, settledAs[one.does as keyof typeof settledAs]);
                settled.add(id);
                owed.delete(id);
                if (owed.size === 0) reasons.delete('PAYMENT_FAILED');
              }
              // An invoice of another subscription has a different id.
              await project.invoice(one.does, one.isOwn ? id : `${id}x`, own);
            } else if (one.does === 'fraud') {
              reasons.add('CARD_VERIFICATION_FAILED');
              await project.send(...fraud());
            } else if (one.does === 'reputation') {
              reasons.add('EMAIL_REPUTATION');
              await transact(api.db, (tx) => disableProject(tx, project.id, 'EMAIL_REPUTATION'));
            } else if (one.does === 'lift') {
              reasons.delete(shown() ?? '');
              await project.operator(null);
            } else {
              reasons.add(one.does);
              await project.operator(one.does);
            }
            expect(await project.shown()).toBe(shown());
          }
          expect((await project.open()).toSorted()).toEqual([...reasons].toSorted());
        }),
        { numRuns: 30 },
      );
    },
  );
});
