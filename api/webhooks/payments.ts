import pLimit from 'p-limit';
import { z } from 'zod';
import { type Database, transact } from '../../db/database.ts';
import { listAdministrators } from '../../db/accounts/members.ts';
import {
  deleteSubscription,
  findProjectOfCustomer,
  findSubscriber,
  insertPaymentReceipt,
  lockCustomer,
  type Payer,
  updateCustomer,
  updateSubscription,
} from '../../db/billing/payments.ts';
import { insertPlatformMail } from '../../db/emails/platform-mail.ts';
import { disableProject, enableProject } from '../../db/transactions/projects/suspend-project.ts';
import { findOwedInvoices, updateOwedInvoices } from '../../db/projects/suspension.ts';
import { paymentFailedMail } from '../../domain/mail/account-mail.ts';
import { Problem } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import {
  type InvoiceOfEvent,
  type PaymentEvent,
  UnreadableEvent,
} from '../../providers/payments/events.ts';
import { InvalidSignature, type Payments } from '../../providers/payments/stripe.ts';
import { askProvider } from '../billing/billing.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';

/**
 * Declares a webhook of the payment provider, whose body is read unchanged because it is signed.
 */
const receivePayments = (id: string, path: `/${string}`) =>
  endpoint({
    id,
    method: 'POST',
    path,
    summary: 'Receive an event of the payment provider',
    description:
      'The body is read as it was sent, with the header Stripe-Signature. A repeated event ' +
      'has no further effect. MISSING_SIGNATURE, INVALID_SIGNATURE: it is not signed by the ' +
      'provider. INVALID_NOTIFICATION: it is signed, but cannot be read. ' +
      'SERVICE_UNAVAILABLE: send it again.',
    access: 'open',
    limit: 'none',
    asSent: true,
    bodyBytesMax: limits.jsonBodyBytes,
    unavailable: (config) => (config.billing ? null : 'BILLING_DISABLED'),
    response: z.object({ success: z.literal(true), received: z.literal(true) }),
    problems: [
      'BILLING_DISABLED',
      'MISSING_SIGNATURE',
      ['INVALID_SIGNATURE', 400],
      'INVALID_NOTIFICATION',
      'SERVICE_UNAVAILABLE',
    ],
    example: { response: { success: true, received: true } },
    async handle(call) {
      const { payments, request } = call;
      if (!payments) throw new Problem('BILLING_DISABLED');
      const signature = request.header('stripe-signature');
      if (signature === '') throw new Problem('MISSING_SIGNATURE');
      const event = readEvent(payments, request.bytes, signature);
      const ask: Ask = (question) => askProvider({ payments, log: call.log }, question);
      const known = await withCustomer(ask, event);
      await inTurn(() => handleEvent(call, ask, known));
      return { success: true as const, received: true as const };
    },
  });

export const paymentEndpoints = [
  receivePayments('receivePayments', '/webhooks/incoming/payments'),
  receivePayments('receiveStripe', '/webhooks/incoming/stripe'),
];

/**
 * At most two events are handled at a time. Each event needs a database connection while it calls
 * the provider, which may be slow.
 */
const turns = pLimit(2);
/**
 * Maximum number of waiting events. A further event would wait longer than the provider waits for
 * the response.
 */
const waitingMax = 100;

/**
 * Handles an event when it is its turn.
 * @throws Problem SERVICE_UNAVAILABLE when too many events are waiting
 */
function inTurn(work: () => Promise<void>): Promise<void> {
  if (turns.pendingCount >= waitingMax) {
    const message = 'Too many events of the payment provider are waiting to be recorded.';
    throw new Problem('SERVICE_UNAVAILABLE', { message });
  }
  return turns(work);
}

function readEvent(payments: Payments, body: Buffer, signature: string): PaymentEvent {
  try {
    return payments.readEvent(body, signature);
  } catch (error) {
    if (error instanceof InvalidSignature) throw new Problem('INVALID_SIGNATURE', { status: 400 });
    if (error instanceof UnreadableEvent) {
      throw new Problem('INVALID_NOTIFICATION', { message: error.message });
    }
    throw error;
  }
}

/**
 * Calls the payment provider.
 * @throws Problem SERVICE_UNAVAILABLE if the call fails; the provider then sends the event again.
 */
type Ask = <T>(question: (payments: Payments) => Promise<T>) => Promise<T>;

/**
 * Adds the customer to an event that contains only the charge. The payment provider knows the
 * customer of the charge.
 */
async function withCustomer(ask: Ask, event: PaymentEvent): Promise<PaymentEvent> {
  if (event.kind !== 'fraud' || event.customer !== null) return event;
  const { charge } = event;
  return { ...event, customer: await ask((payments) => payments.findCustomerOfCharge(charge)) };
}

/**
 * Stores the receipt and the effect of an event in one transaction. So an event that failed is sent
 * again, and has its effect once.
 */
async function handleEvent(
  { db, config, log }: Pick<Services, 'db' | 'config' | 'log'>,
  ask: Ask,
  event: PaymentEvent,
): Promise<void> {
  if (event.kind === 'other') return;
  await transact(db, async (tx) => {
    const isNew = await insertPaymentReceipt(tx, event.id);
    if (isNew) await effectOf(tx, event, ask, { config, log });
  });
}

/**
 * Applies an event. Events arrive in any order. So the current state at the provider is used, not
 * the state in the event. The customer is locked, so that the newer of two states is stored last.
 */
async function effectOf(
  tx: Database,
  event: Exclude<PaymentEvent, { kind: 'other' }>,
  ask: Ask,
  { config, log }: Pick<Services, 'config' | 'log'>,
): Promise<void> {
  if (event.customer === null) return;
  await lockCustomer(tx, event.customer);
  switch (event.kind) {
    case 'checkedOut':
      await subscribe(tx, event, ask, { config, log });
      return;
    case 'subscriptionEnded':
      await deleteSubscription(tx, event.customer, event.subscription);
      return;
    case 'subscriptionChanged':
      if (!(await isLive(ask, event.subscription))) {
        await deleteSubscription(tx, event.customer, event.subscription);
      } else if (!(await hasOther(tx, event.customer, event.subscription, ask))) {
        await updateSubscription(tx, event.customer, event.subscription);
      }
      return;
    case 'settled':
      return settle(tx, event, ask);
    case 'paymentFailed': {
      // The first invoice belongs to the checkout, so no invoice was unpaid before.
      if (event.isFirst) return;
      const project = await findProjectOfCustomer(tx, event.customer);
      if (!project || !isOfProject(event, project)) return;
      const { invoice } = event;
      if (invoice !== null && (await stateOf(ask, invoice)) === 'settled') return;
      return event.isFinal ? disableForInvoice(tx, project, invoice) : warn(tx, project, config);
    }
    case 'fraud': {
      const project = await findProjectOfCustomer(tx, event.customer);
      if (project) await disableProject(tx, project.id, 'CARD_VERIFICATION_FAILED');
      return;
    }
  }
}

/**
 * Returns true if an invoice is for the project's subscription, or names no subscription and is no
 * one-off invoice.
 */
function isOfProject({ subscription, isOneOff }: InvoiceOfEvent, { billedBy }: Payer): boolean {
  return !isOneOff && (subscription === null || subscription === billedBy);
}

function stateOf(ask: Ask, invoice: string): Promise<'owed' | 'settled' | 'missing'> {
  return ask((payments) => payments.findInvoice(invoice));
}

async function disableForInvoice(
  tx: Database,
  { id }: Payer,
  invoice: string | null,
): Promise<void> {
  await disableProject(tx, id, 'PAYMENT_FAILED');
  const owed = (await findOwedInvoices(tx, id)) ?? [];
  if (invoice === null || owed.includes(invoice)) return;
  await updateOwedInvoices(tx, id, [...owed, invoice]);
}

/**
 * Removes PAYMENT_FAILED once no failed invoice is owed any more. Each payment of an invoice of the
 * project checks all failed invoices, because the event of another payment may be lost or late.
 */
async function settle(
  tx: Database,
  event: Extract<PaymentEvent, { kind: 'settled' }>,
  ask: Ask,
): Promise<void> {
  const project = await findProjectOfCustomer(tx, event.customer);
  const owed = project && (await findOwedInvoices(tx, project.id));
  if (!owed) return;
  const { invoice } = event;
  const hasFailed = invoice !== null && owed.includes(invoice);
  if (!hasFailed && !isOfProject(event, project)) return;
  const left: string[] = [];
  for (const id of owed) {
    if (id !== invoice && (!event.isPaid || (await stateOf(ask, id)) === 'owed')) left.push(id);
  }
  if (left.length === 0) await enableProject(tx, project.id, 'PAYMENT_FAILED');
  else await updateOwedInvoices(tx, project.id, left);
}

/**
 * Makes the project of a checkout a subscriber. The new subscription is ended if the project was
 * deleted during the checkout, or already has another active subscription. The earlier subscription
 * stays, because usage was reported to its customer and its limits apply.
 */
async function subscribe(
  tx: Database,
  event: Extract<PaymentEvent, { kind: 'checkedOut' }>,
  ask: Ask,
  { config, log }: Pick<Services, 'config' | 'log'>,
): Promise<void> {
  const { customer, subscription, projectId, server } = event;
  for (;;) {
    const project = await findSubscriber(tx, projectId);
    const before = project?.subscription ?? null;
    const isFirst = before === null || before === subscription || !(await isLive(ask, before));
    if (project && isFirst) {
      const isOver = subscription !== null && !(await isLive(ask, subscription));
      const now = { customer, subscription, isOver };
      // The update fails if the project was changed or deleted after it was read. Then the project
      // is read again.
      if (await updateCustomer(tx, projectId, before, now)) return;
      continue;
    }
    // An unknown project may belong to another installation that uses the same account.
    const isOurs = project !== undefined || server === config.apiUrl;
    if (!isOurs || subscription === null) return;
    await ask((payments) => payments.endSubscription(subscription));
    log.warn(
      { projectId, customer, subscription },
      'A subscription was ended: its project was deleted, or has another one',
    );
    return;
  }
}

async function isLive(ask: Ask, subscription: string): Promise<boolean> {
  const found = await ask((payments) => payments.findSubscription(subscription));
  return found?.isLive ?? false;
}

/** Returns true if the project of a customer has another active subscription, which stays. */
async function hasOther(
  tx: Database,
  customer: string,
  subscription: string,
  ask: Ask,
): Promise<boolean> {
  const before = (await findProjectOfCustomer(tx, customer))?.subscription ?? subscription;
  return before !== subscription && isLive(ask, before);
}

async function warn(
  tx: Database,
  project: Payer,
  { platformFrom, dashboardUrl }: Services['config'],
): Promise<void> {
  const mail = paymentFailedMail({ project: project.name, link: dashboardUrl });
  const to = await listAdministrators(tx, project.id);
  await insertPlatformMail(tx, platformFrom, to, mail);
}
