import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { listAdministrators } from '../../db/members.ts';
import {
  deleteSubscription,
  findProjectOfCustomer,
  insertPaymentReceipt,
  updateCustomer,
  updateSubscription,
} from '../../db/payments.ts';
import { insertPlatformMail } from '../../db/platform-mail.ts';
import { type DisabledReason, disableProject, enableProject } from '../../db/suspension.ts';
import { paymentFailedMail } from '../../domain/account-mail.ts';
import { Problem } from '../../domain/errors.ts';
import { InvalidSignature, type PaymentEvent, type Payments } from '../../providers/payments.ts';
import type { DueWork } from '../../workflows/dispatcher.ts';
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
    problems: ['BILLING_DISABLED', 'MISSING_SIGNATURE', 'INVALID_SIGNATURE'],
    async handle({ payments, request, ...services }) {
      if (!payments) throw new Problem('BILLING_DISABLED');
      const signature = request.header('stripe-signature');
      if (signature === '') throw new Problem('MISSING_SIGNATURE');
      const event = readEvent(payments, request.bytes, signature);
      await handleEvent(services, await withCustomer(payments, event));
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

/** Asks who paid, where the event only names the charge. */
async function withCustomer(payments: Payments, event: PaymentEvent): Promise<PaymentEvent> {
  if (event.kind !== 'fraud' || event.customer !== null || event.charge === null) return event;
  return { ...event, customer: await payments.findCustomerOfCharge(event.charge) };
}

/** Receipt and effect are one transaction: an event that failed comes again, and has effect once. */
async function handleEvent(
  { db, config, dispatcher }: Pick<Services, 'db' | 'config' | 'dispatcher'>,
  event: PaymentEvent,
): Promise<void> {
  const due = await db.transaction().execute(async (tx) => {
    const isNew = await insertPaymentReceipt(tx, event.id);
    return isNew ? effectOf(tx, event, config) : {};
  });
  dispatcher.dispatch(due);
}

async function effectOf(
  tx: Database,
  event: PaymentEvent,
  config: Services['config'],
): Promise<DueWork> {
  switch (event.kind) {
    case 'checkedOut':
      await updateCustomer(tx, event.projectId, event);
      return {};
    case 'subscribed':
      await updateSubscription(tx, event.customer, event.subscription);
      return {};
    case 'unsubscribed':
      await deleteSubscription(tx, event.customer, event.subscription);
      return {};
    case 'paid': {
      const project = await findProjectOfCustomer(tx, event.customer);
      if (project) await enableProject(tx, project.id, 'PAYMENT_FAILED');
      return {};
    }
    case 'paymentFailed':
      // The first invoice is the checkout itself: nothing was owed before.
      if (event.isFirst) return {};
      return event.isFinal
        ? disable(tx, event.customer, 'PAYMENT_FAILED')
        : warn(tx, event.customer, config);
    case 'fraud':
      return event.customer === null ? {} : disable(tx, event.customer, 'CARD_VERIFICATION_FAILED');
    case 'other':
      return {};
  }
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
