import Stripe from 'stripe';
import { eventOf, idOf, type PaymentEvent } from './events.ts';

/** The payment provider, Stripe. Amounts are in the smallest unit of the currency. */
export interface Payments {
  /** Creates a page on which a project can subscribe. Returns its URL. */
  createCheckout(order: {
    projectId: string;
    /** The customer's id, if the project has subscribed before. */
    customer: string | null;
    email: string;
    currency: Currency;
    returnUrl: string;
    /** Id of this server, because several installations may share an account at Stripe. */
    server: string;
  }): Promise<string>;
  /**
   * Creates a page on which a customer manages cards, invoices and the subscription. Returns its
   * URL.
   */
  createPortal(customer: string, returnUrl: string): Promise<string>;
  /** Returns the current state of a subscription; null: no subscription has this id. */
  findSubscription(id: string): Promise<Subscription | null>;
  /** Returns the state of an invoice; `missing`: no invoice has this id. */
  findInvoice(id: string): Promise<'owed' | 'settled' | 'missing'>;
  /**
   * Ends a subscription now and bills its usage. Does nothing if the subscription has already
   * ended.
   */
  endSubscription(id: string): Promise<void>;
  findCredits(customer: string): Promise<Credits | null>;
  findUpcomingInvoice(customer: string, subscription: string): Promise<UpcomingInvoice | null>;
  /** Lists the newest hundred invoices. */
  listInvoices(customer: string): Promise<Invoice[]>;
  /**
   * Reports a sent message. Repeating the report does not count the message twice.
   * @throws UsageRefused when the provider will never accept the report
   */
  reportUsage(usage: Usage): Promise<void>;
  /**
   * Reads the event in a webhook.
   * @throws InvalidSignature when the webhook does not come from Stripe
   * @throws UnreadableEvent when the body is no event, or lacks fields that events of its type have
   */
  readEvent(body: Buffer, signature: string): PaymentEvent;
  /** Returns the customer who paid a charge that was reported as fraud. */
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
  /**
   * True if mail may be sent, because the subscription is active, in its trial, or overdue but
   * still collected (`liveStatuses`).
   */
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
 * Thrown when a webhook was not signed with the secret of this server, or was signed too long ago.
 */
export class InvalidSignature extends Error {
  override readonly name = 'InvalidSignature';
}

/**
 * Thrown when the provider will never count a message, because it is too old or the meter does not
 * exist.
 */
export class UsageRefused extends Error {
  override readonly name = 'UsageRefused';
}

export interface PaymentSettings {
  secretKey: string;
  webhookSecret: string;
  priceOnboarding: string;
  priceEmailUsage: string;
  meterEventName: string;
  /** null: Stripe's own API. */
  apiBase: string | null;
}

/** Maximum age of a signed webhook, in seconds. */
const toleranceSeconds = 300;
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
      if (!url) throw new Error('Stripe has returned a checkout without a URL.');
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
 * Statuses in which mail may be sent. In the other statuses, the subscription was cancelled, never
 * paid (`incomplete`, `incomplete_expired`), or is no longer collected (`unpaid`, `paused`).
 */
const liveStatuses: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);

/** Statuses in which nothing is owed. The other statuses are `draft` and `open`. */
const settledStatuses: ReadonlySet<string> = new Set(['paid', 'void', 'uncollectible']);

function accounts(
  stripe: Stripe,
): Pick<
  Payments,
  | 'findSubscription'
  | 'findInvoice'
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
    async findInvoice(id) {
      const invoice = await orNull(stripe.invoices.retrieve(id));
      if (!invoice) return 'missing';
      return settledStatuses.has(invoice.status ?? '') ? 'settled' : 'owed';
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
        stripe.webhooks.signature!.verifyHeader(body, signature, webhookSecret, toleranceSeconds);
      } catch (error) {
        if (error instanceof Stripe.errors.StripeSignatureVerificationError) {
          throw new InvalidSignature(error.message);
        }
        throw error;
      }
      return eventOf(body);
    },
  };
}

/**
 * Returns true if the message was already reported before a crash, because its identifier exists.
 */
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

/** Converts a time of Stripe, which is in seconds. */
function moment(seconds: number): Date {
  return new Date(seconds * 1000);
}
