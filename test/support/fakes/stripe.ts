import { createHmac, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, use } from '../use.ts';

/**
 * A fake of the parts of Stripe's HTTP API that Everpost uses. It stores meter events, and refuses
 * a repeated identifier like the real API. (The tests in test/conformance check with Stripe's own
 * mock that requests are well-formed.)
 */
export interface FakeStripe {
  /** Value of STRIPE_API_BASE. */
  url: string;
  /** Environment variables of an API or worker that uses this fake. */
  environment: Record<string, string>;
  /** Requests so far: method, path and form, oldest first. */
  requests: { method: string; path: string; form: Record<string, string> }[];
  /** The accepted meter events, by identifier. */
  meterEvents: Map<string, Record<string, string>>;
  /** The status of each existing subscription, by id. */
  subscriptions: Map<string, string>;
  /** The status of each invoice, by id. */
  invoices: Map<string, string>;
  /** Each response waits for this promise. */
  answersAfter: Promise<void>;
  /** The meter refuses events before this time, in seconds since 1970. */
  meterFrom: number;
  /** True: requests to the meter are accepted, but their responses are lost. */
  losesAnswers: boolean;
  /** Returns a webhook as Stripe sends it: body and header. */
  sign(event: object, given?: { at?: Date; secret?: string }): WebhookRequest;
  /** Returns any body, signed like a webhook. */
  signBody(body: string, given?: { at?: Date; secret?: string }): WebhookRequest;
  close(): Promise<void>;
}

interface WebhookRequest {
  body: string;
  headers: Record<string, string>;
}

const webhookSecret = 'whsec_of_the_test';
const start = Date.UTC(2026, 10, 1) / 1000;
const end = Date.UTC(2026, 11, 1) / 1000;

const invoice = {
  object: 'invoice',
  currency: 'eur',
  amount_due: 1250,
  amount_paid: 0,
  created: start,
  period_start: start,
  period_end: end,
  subtotal: 1000,
  total: 1250,
  due_date: null,
  hosted_invoice_url: 'https://invoice.stripe.test/1',
  invoice_pdf: 'https://invoice.stripe.test/1.pdf',
};

const bodies: Record<string, object> = {
  'POST /v1/checkout/sessions': { id: 'cs_1', url: 'https://checkout.stripe.test/cs_1' },
  'POST /v1/billing_portal/sessions': { id: 'bps_1', url: 'https://portal.stripe.test/bps_1' },
  'GET /v1/billing/credit_balance_summary': {
    balances: [{ available_balance: { monetary: { currency: 'eur', value: 300 } } }],
  },
  'GET /v1/billing/credit_grants': {
    data: [{ amount: { monetary: { currency: 'eur', value: 500 } } }],
  },
  'POST /v1/invoices/create_preview': invoice,
  'GET /v1/invoices': {
    data: [
      { ...invoice, id: 'in_2', number: 'E-2', status: 'open', due_date: end },
      { ...invoice, id: 'in_1', number: 'E-1', status: 'paid', amount_paid: 1250 },
    ],
  },
  'GET /v1/charges/ch_1': { id: 'ch_1', customer: 'cus_fraud' },
};

/** Like `startFakeStripe`; the fake is closed at the end of the test or of the file. */
export const useFakeStripe = async () => use(await startFakeStripe());

export async function startFakeStripe(): Promise<FakeStripe> {
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  const { url, close } = await listen(server);
  const fake: FakeStripe = {
    url,
    environment: {
      STRIPE_SECRET_KEY: 'sk_test_of_the_test',
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_PRICE_ONBOARDING: 'price_onboarding',
      STRIPE_PRICE_EMAIL_USAGE: 'price_usage',
      STRIPE_API_BASE: url,
    },
    requests: [],
    meterEvents: new Map(),
    subscriptions: new Map([['sub_1', 'active']]),
    invoices: new Map(),
    answersAfter: Promise.resolve(),
    meterFrom: 0,
    losesAnswers: false,
    close,
    sign(event, given) {
      const body = JSON.stringify({ id: `evt_${randomUUID()}`, object: 'event', ...event });
      return fake.signBody(body, given);
    },
    signBody(body, { at = new Date(), secret = webhookSecret } = {}) {
      const t = Math.floor(at.getTime() / 1000);
      const v1 = createHmac('sha256', secret).update(`${t}.${body}`).digest('hex');
      return {
        body,
        headers: { 'Content-Type': 'application/json', 'Stripe-Signature': `t=${t},v1=${v1}` },
      };
    },
  };
  return fake;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams } = new URL(request.url ?? '/', url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const sent = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
    const form = Object.fromEntries([...searchParams, ...sent]);
    const method = request.method ?? 'GET';
    fake.requests.push({ method, path, form });
    if (path === '/v1/billing/meter_events') return meter(form, response);
    const body = bodies[`${method} ${path}`] ?? record(method, path);
    await fake.answersAfter;
    if (body) return send(response, 200, body);
    const error = { type: 'invalid_request_error', code: 'resource_missing', message: 'No such' };
    return send(response, 404, { error });
  }

  /**
   * Reads or ends a subscription, or reads an invoice; undefined: the record does not exist, or has
   * ended already.
   */
  function record(method: string, path: string): object | undefined {
    const [, kind, id = ''] = /^\/v1\/(subscriptions|invoices)\/(\w+)$/.exec(path) ?? [];
    const status = kind === 'invoices' ? fake.invoices.get(id) : fake.subscriptions.get(id);
    if (status === undefined) return undefined;
    if (method === 'DELETE' && kind === 'subscriptions' && status !== 'canceled') {
      fake.subscriptions.set(id, 'canceled');
      return { id, status: 'canceled' };
    }
    if (method !== 'GET') return undefined;
    if (kind === 'invoices') return { ...invoice, id, status };
    const items = { data: [{ current_period_start: start, current_period_end: end }] };
    return { id, status, currency: 'eur', items };
  }

  function meter(form: Record<string, string>, response: ServerResponse): void {
    const identifier = form['identifier'] ?? '';
    if (fake.meterEvents.has(identifier)) {
      const message = `An event already exists with identifier ${identifier}.`;
      return send(response, 400, { error: { type: 'invalid_request_error', message } });
    }
    if (Number(form['timestamp']) < fake.meterFrom) {
      const message = 'The timestamp must be within the past 35 calendar days.';
      return send(response, 400, { error: { type: 'invalid_request_error', message } });
    }
    fake.meterEvents.set(identifier, form);
    if (fake.losesAnswers) return void response.destroy();
    return send(response, 200, { object: 'billing.meter_event', identifier });
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Request-Id': 'req_1' })
    .end(JSON.stringify(body));
}
