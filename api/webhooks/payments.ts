import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { listAdministrators } from '../../db/members.ts';
import {
  deleteSubscription,
  findProjectOfCustomer,
  insertPaymentReceipt,
  lockCustomer,
  updateCustomer,
  updateSubscription,
} from '../../db/payments.ts';
import { insertPlatformMail } from '../../db/platform-mail.ts';
import { type DisabledReason, disableProject, enableProject } from '../../db/suspension.ts';
import { paymentFailedMail } from '../../domain/account-mail.ts';
import { Problem } from '../../domain/errors.ts';
import { InvalidSignature, type PaymentEvent, type Payments } from '../../providers/payments.ts';
import type { DueWork } from '../../workflows/dispatcher.ts';
import { askProvider } from '../accounts/billing.ts';
import { endpoint, type Services } from '../endpoint.ts';

/** What the payment provider tells us. The body must be read as it was sent: it is signed. */
const receivePayments = (id: string, path: `/${string}`) =>
  endpoint({
    id,
    method: 'POST',
    path,
    tag: 'Webhooks',
    summary: 'Receive an event of the payment provider',
    access: 'open',
    limit: 'none',
    asSent: true,
    unavailable: (config) => (config.billing ? null : 'BILLING_DISABLED'),
    response: z.object({ success: z.literal(true), received: z.literal(true) }),
    problems: ['BILLING_DISABLED', 'MISSING_SIGNATURE', 'INVALID_SIGNATURE', 'SERVICE_UNAVAILABLE'],
    example: { response: { success: true, received: true } },
    async handle({ payments, request, ...services }) {
      if (!payments) throw new Problem('BILLING_DISABLED');
      const signature = request.header('stripe-signature');
      if (signature === '') throw new Problem('MISSING_SIGNATURE');
      const event = readEvent(payments, request.bytes, signature);
      const ask: Ask = (question) => askProvider({ payments, log: services.log }, question);
      await handleEvent(services, ask, await withCustomer(ask, event));
      return { success: true as const, received: true as const };
    },
  });

export const paymentEndpoints = [
  receivePayments('receivePayments', '/webhooks/incoming/payments'),
  receivePayments('receiveStripe', '/webhooks/incoming/stripe'),
];

function readEvent(payments: Payments, body: Buffer, signature: string): PaymentEvent {
  try {
    return payments.readEvent(body, signature);
  } catch (error) {
    if (error instanceof InvalidSignature) throw new Problem('INVALID_SIGNATURE', { status: 400 });
    throw error;
  }
}

/** Asks the provider. @throws Problem SERVICE_UNAVAILABLE: the event will come again. */
type Ask = <T>(question: (payments: Payments) => Promise<T>) => Promise<T>;

/** Asks who paid, where the event only names the charge. */
async function withCustomer(ask: Ask, event: PaymentEvent): Promise<PaymentEvent> {
  if (event.kind !== 'fraud' || event.customer !== null || event.charge === null) return event;
  const { charge } = event;
  return { ...event, customer: await ask((payments) => payments.findCustomerOfCharge(charge)) };
}

/** Receipt and effect are one transaction: an event that failed comes again, and has effect once. */
async function handleEvent(
  { db, config, dispatcher }: Pick<Services, 'db' | 'config' | 'dispatcher'>,
  ask: Ask,
  event: PaymentEvent,
): Promise<void> {
  const due = await db.transaction().execute(async (tx) => {
    const isNew = await insertPaymentReceipt(tx, event.id);
    return isNew ? effectOf(tx, event, ask, config) : {};
  });
  dispatcher.dispatch(due);
}

/**
 * What the provider says now counts, not what it said when the event was made: events come in any
 * order. Who asks holds the customer, so that of two answers the later one is stored last.
 */
async function effectOf(
  tx: Database,
  event: PaymentEvent,
  ask: Ask,
  config: Services['config'],
): Promise<DueWork> {
  if (event.kind === 'other') return {};
  if (event.customer === null) return {};
  await lockCustomer(tx, event.customer);
  switch (event.kind) {
    case 'checkedOut': {
      const isOver = event.subscription !== null && (await hasEnded(ask, event.subscription));
      await updateCustomer(tx, event.projectId, isOver ? { ...event, subscription: null } : event);
      return {};
    }
    case 'subscriptionEnded':
      await deleteSubscription(tx, event.customer, event.subscription);
      return {};
    case 'subscriptionChanged':
      await ((await hasEnded(ask, event.subscription))
        ? deleteSubscription(tx, event.customer, event.subscription)
        : updateSubscription(tx, event.customer, event.subscription));
      return {};
    case 'paid': {
      const project = await findProjectOfCustomer(tx, event.customer);
      if (project) await enableProject(tx, project.id, 'PAYMENT_FAILED');
      return {};
    }
    case 'paymentFailed': {
      // The first invoice is the checkout itself: nothing was owed before.
      if (event.isFirst) return {};
      const { invoice } = event;
      if (invoice !== null && (await ask((payments) => payments.isPaid(invoice)))) return {};
      return event.isFinal
        ? disable(tx, event.customer, 'PAYMENT_FAILED')
        : warn(tx, event.customer, config);
    }
    case 'fraud':
      return disable(tx, event.customer, 'CARD_VERIFICATION_FAILED');
  }
}

async function hasEnded(ask: Ask, subscription: string): Promise<boolean> {
  const found = await ask((payments) => payments.findSubscription(subscription));
  return found?.hasEnded ?? true;
}

async function disable(tx: Database, customer: string, reason: DisabledReason): Promise<DueWork> {
  const project = await findProjectOfCustomer(tx, customer);
  return (project && (await disableProject(tx, project.id, reason))) ?? {};
}

async function warn(
  tx: Database,
  customer: string,
  { platformFrom, dashboardUrl }: Services['config'],
): Promise<DueWork> {
  const project = await findProjectOfCustomer(tx, customer);
  if (!project) return {};
  const mail = paymentFailedMail({ project: project.name, link: dashboardUrl });
  const to = await listAdministrators(tx, project.id);
  return { runs: await insertPlatformMail(tx, platformFrom, to, mail) };
}
