import Stripe from 'stripe';
import { isUuid } from '../domain/ids.ts';

/** The payment provider: Stripe. Amounts in the smallest unit of the currency. */
export interface Payments {
  /** A page on which a project becomes a subscriber. */
  createCheckout(order: {
    projectId: string;
    /** If it was one before. */
    customer: string | null;
    email: string;
    currency: Currency;
    returnUrl: string;
    /** This server: several installations may share an account of the provider. */
    server: string;
  }): Promise<string>;
  /** A page on which a customer manages cards, invoices and the subscription. */
  createPortal(customer: string, returnUrl: string): Promise<string>;
  /** Its current state. null: there is none with this id. */
  findSubscription(id: string): Promise<Subscription | null>;
  /** Whether an invoice is paid by now. */
  isPaid(invoice: string): Promise<boolean>;
  /** Ends a subscription now and bills its usage; one that has ended is no error. */
  endSubscription(id: string): Promise<void>;
  findCredits(customer: string): Promise<Credits | null>;
  findUpcomingInvoice(customer: string, subscription: string): Promise<UpcomingInvoice | null>;
  /** The newest hundred. */
  listInvoices(customer: string): Promise<Invoice[]>;
  /**
   * Reports a sent message. It counts once, however often it is reported.
   * @throws UsageRefused when the provider rejects it for good.
   */
  reportUsage(usage: Usage): Promise<void>;
  /** The event of a webhook. @throws InvalidSignature when it does not come from the provider. */
  readEvent(body: Buffer, signature: string): PaymentEvent;
  /** The customer who paid a charge that was reported as fraud. */
  findCustomerOfCharge(charge: string): Promise<string | null>;
}

export const currencies = ['usd', 'eur', 'gbp'] as const;
export type Currency = (typeof currencies)[number];

export interface Usage {
  emailId: string;
  customer: string;
  units: number;
  sentAt: Date;
}

export interface Subscription {
  /** Paid, or about to be: mail may be sent. */
  isLive: boolean;
  currency: string;
  period: { start: Date; end: Date } | null;
}

export interface Credits {
  balance: number;
  creditAmount: number;
  currency: string;
}

export interface UpcomingInvoice {
  amountDue: number;
  currency: string;
  periodStart: Date;
  periodEnd: Date;
  subtotal: number;
  total: number;
}

export interface Invoice extends UpcomingInvoice {
  id: string;
  number: string | null;
  status: string | null;
  amountPaid: number;
  created: Date;
  dueDate: Date | null;
  hostedInvoiceUrl: string | null;
  invoicePdf: string | null;
}

/**
 * An event of the provider, in our words. Events come in any order, some hours late. So an event of
 * a subscription only says which one changed; ask for its current state.
 */
export type PaymentEvent = { id: string } & (
  | {
      kind: 'checkedOut';
      projectId: string;
      customer: string;
      subscription: string | null;
      /** The server that made the checkout; null: unknown. */
      server: string | null;
    }
  | { kind: 'paid'; customer: string }
  | {
      kind: 'paymentFailed';
      customer: string;
      invoice: string | null;
      isFirst: boolean;
      isFinal: boolean;
    }
  /** Ended for good. */
  | { kind: 'subscriptionEnded'; customer: string; subscription: string }
  | { kind: 'subscriptionChanged'; customer: string; subscription: string }
  | { kind: 'fraud'; customer: string | null; charge: string | null }
  | { kind: 'other' }
);

/** The body of a webhook was not signed with our secret, or too long ago. */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';
}

/** A message that the provider does not count: too old, or the meter does not exist. */
export class UsageRefused extends Error {
  override readonly name = 'UsageRefused';
}

export interface PaymentSettings {
  secretKey: string;
  webhookSecret: string;
  priceOnboarding: string;
  priceEmailUsage: string;
  meterEventName: string;
  /** null: Stripe itself. */
  apiBase: string | null;
}

/** How old a signed webhook may be, in seconds. */
const toleranceSeconds = 300;
/** Longest wait for an answer, in milliseconds. */
const timeoutMs = 20_000;

export function createPayments(settings: PaymentSettings): Payments {
  const stripe = new Stripe(settings.secretKey, {
    timeout: timeoutMs,
    maxNetworkRetries: 2,
    telemetry: false,
    ...(settings.apiBase ? addressOf(settings.apiBase) : {}),
  });
  return { ...pages(stripe, settings), ...accounts(stripe), ...usage(stripe, settings) };
}

function addressOf(base: string) {
  const { protocol, hostname, port } = new URL(base);
  const plain = protocol === 'http:';
  return {
    protocol: plain ? ('http' as const) : ('https' as const),
    host: hostname,
    port: port || (plain ? '80' : '443'),
  };
}

function pages(
  stripe: Stripe,
  { priceOnboarding, priceEmailUsage }: PaymentSettings,
): Pick<Payments, 'createCheckout' | 'createPortal'> {
  return {
    async createCheckout({ projectId, customer, email, currency, returnUrl, server }) {
      const metadata = { projectId, server };
      const { url } = await stripe.checkout.sessions.create({
        mode: 'subscription',
        ...(customer ? { customer } : { customer_email: email }),
        currency,
        // A metered price has no quantity.
        line_items: [{ price: priceOnboarding, quantity: 1 }, { price: priceEmailUsage }],
        metadata,
        subscription_data: { metadata },
        client_reference_id: projectId,
        success_url: returnUrl,
        cancel_url: returnUrl,
      });
      if (!url) throw new Error('Stripe made a checkout without an address.');
      return url;
    },
    async createPortal(customer, returnUrl) {
      const session = await stripe.billingPortal.sessions.create({
        customer,
        return_url: returnUrl,
      });
      return session.url;
    },
  };
}

/**
 * The other statuses: cancelled, never paid for the first time (`incomplete`,
 * `incomplete_expired`), or no longer collected (`unpaid`, `paused`).
 */
const liveStatuses: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);

function accounts(
  stripe: Stripe,
): Pick<
  Payments,
  | 'findSubscription'
  | 'isPaid'
  | 'endSubscription'
  | 'findCredits'
  | 'findUpcomingInvoice'
  | 'listInvoices'
  | 'findCustomerOfCharge'
> {
  return {
    async findSubscription(id) {
      const subscription = await orNull(stripe.subscriptions.retrieve(id));
      if (!subscription) return null;
      const [item] = subscription.items.data;
      return {
        isLive: liveStatuses.has(subscription.status),
        currency: subscription.currency,
        period: item
          ? { start: moment(item.current_period_start), end: moment(item.current_period_end) }
          : null,
      };
    },
    async isPaid(invoice) {
      return (await orNull(stripe.invoices.retrieve(invoice)))?.status === 'paid';
    },
    async endSubscription(id) {
      await orNull(stripe.subscriptions.cancel(id, { invoice_now: true, prorate: true }));
    },
    async findCredits(customer) {
      const [summary, grants] = await Promise.all([
        stripe.billing.creditBalanceSummaries.retrieve({
          customer,
          filter: {
            type: 'applicability_scope',
            applicability_scope: { price_type: 'metered' },
          },
        }),
        stripe.billing.creditGrants.list({ customer, limit: 100 }),
      ]);
      const available = summary.balances.find(({ available_balance: b }) => b.monetary)
        ?.available_balance.monetary;
      if (!available) return null;
      const amounts = grants.data
        .filter(({ amount }) => amount.monetary?.currency === available.currency)
        .map(({ amount }) => amount.monetary?.value ?? 0);
      return {
        balance: available.value,
        creditAmount: amounts.reduce((sum, value) => sum + value, 0),
        currency: available.currency,
      };
    },
    async findUpcomingInvoice(customer, subscription) {
      const invoice = await orNull(stripe.invoices.createPreview({ customer, subscription }));
      return invoice && upcoming(invoice);
    },
    async listInvoices(customer) {
      const { data } = await stripe.invoices.list({ customer, limit: 100 });
      return data.map((invoice) => ({
        ...upcoming(invoice),
        id: invoice.id,
        number: invoice.number,
        status: invoice.status,
        amountPaid: invoice.amount_paid,
        created: moment(invoice.created),
        dueDate: invoice.due_date === null ? null : moment(invoice.due_date),
        hostedInvoiceUrl: invoice.hosted_invoice_url ?? null,
        invoicePdf: invoice.invoice_pdf ?? null,
      }));
    },
    async findCustomerOfCharge(charge) {
      const found = await orNull(stripe.charges.retrieve(charge));
      return idOf(found?.customer);
    },
  };
}

function usage(
  stripe: Stripe,
  { webhookSecret, meterEventName }: PaymentSettings,
): Pick<Payments, 'reportUsage' | 'readEvent'> {
  return {
    async reportUsage({ emailId, customer, units, sentAt }) {
      await stripe.billing.meterEvents
        .create({
          event_name: meterEventName,
          identifier: emailId,
          timestamp: Math.floor(sentAt.getTime() / 1000),
          payload: { stripe_customer_id: customer, value: String(units) },
        })
        .catch((error: unknown) => {
          if (isRepeat(error)) return;
          const isInvalid = error instanceof Stripe.errors.StripeInvalidRequestError;
          throw isInvalid ? new UsageRefused(error.message) : error;
        });
    },
    readEvent(body, signature) {
      try {
        return eventOf(
          stripe.webhooks.constructEvent(body, signature, webhookSecret, toleranceSeconds),
        );
      } catch (error) {
        if (error instanceof Stripe.errors.StripeSignatureVerificationError) {
          throw new InvalidSignature(error.message);
        }
        throw error;
      }
    },
  };
}

/** Already counted, by us before a crash: the identifier exists. */
function isRepeat(error: unknown): boolean {
  return (
    error instanceof Stripe.errors.StripeInvalidRequestError &&
    /already exists with identifier/i.test(error.message)
  );
}

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  return asked.catch((error: unknown) => {
    const isMissing =
      error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode === 404;
    if (isMissing) return null;
    throw error;
  });
}

function upcoming(invoice: Stripe.Invoice): UpcomingInvoice {
  return {
    amountDue: invoice.amount_due,
    currency: invoice.currency,
    periodStart: moment(invoice.period_start),
    periodEnd: moment(invoice.period_end),
    subtotal: invoice.subtotal,
    total: invoice.total,
  };
}

/** Stripe's timestamps are in seconds. */
function moment(seconds: number): Date {
  return new Date(seconds * 1000);
}

/** The id of a reference that may be expanded. */
function idOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const { id } = (value ?? {}) as { id?: unknown };
  return typeof id === 'string' ? id : null;
}

function eventOf({ id, type, data }: Stripe.Event): PaymentEvent {
  const about = data.object as unknown as Record<string, unknown>;
  const customer = idOf(about['customer']);
  switch (type) {
    case 'checkout.session.completed': {
      const { projectId, server } = (about['metadata'] ?? {}) as Record<string, unknown>;
      if (!isUuid(projectId) || !customer) return { id, kind: 'other' };
      const subscription = idOf(about['subscription']);
      const maker = typeof server === 'string' ? server : null;
      return { id, kind: 'checkedOut', projectId, customer, subscription, server: maker };
    }
    case 'invoice.paid':
      return customer ? { id, kind: 'paid', customer } : { id, kind: 'other' };
    case 'invoice.payment_failed': {
      if (!customer) return { id, kind: 'other' };
      const isFirst = about['billing_reason'] === 'subscription_create';
      const isFinal = (about['next_payment_attempt'] ?? null) === null;
      return { id, kind: 'paymentFailed', customer, invoice: idOf(about), isFirst, isFinal };
    }
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted': {
      const subscription = idOf(about);
      if (!customer || !subscription) return { id, kind: 'other' };
      const hasEnded = type === 'customer.subscription.deleted';
      const kind = hasEnded ? 'subscriptionEnded' : 'subscriptionChanged';
      return { id, kind, customer, subscription };
    }
    case 'radar.early_fraud_warning.created': {
      const charge = about['charge'] as { customer?: unknown } | string | undefined;
      const paidBy = typeof charge === 'object' ? idOf(charge.customer) : null;
      return { id, kind: 'fraud', customer: paidBy ?? customer, charge: idOf(charge) };
    }
    default:
      return { id, kind: 'other' };
  }
}
