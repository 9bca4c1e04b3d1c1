import { z } from 'zod';
import {
  type BillingProject,
  findBillingProject,
  listUsage,
  readTaken,
  updateOwnLimits,
} from '../../db/billing/billing.ts';
import {
  type Category,
  capOf,
  categories,
  monthOf,
  percentOf,
  usedUp,
} from '../../domain/billing.ts';
import { holdProject } from '../../db/projects/projects.ts';
import { Problem, found } from '../../domain/errors.ts';
import { type Payments, currencies } from '../../providers/payments/stripe.ts';
import type { ProjectCaller } from '../access/caller.ts';
import { changesBetween } from '../access/changes.ts';
import type { SecurityLog } from '../access/security-log.ts';
import { endpoint } from '../http/endpoint.ts';
import type { Services } from '../services/services.ts';
import { Time, named, time, ById } from '../http/schemas.ts';
import { transact } from '../../db/database.ts';

/** Options of all endpoints below. Without a payment provider the endpoints are unavailable. */
const common = {
  access: 'session',
  projectParam: 'id',
  params: ById,
  unavailable: (config: Services['config']) => (config.billing ? null : 'BILLING_DISABLED'),
} as const;
const everyProblem = ['BILLING_DISABLED'] as const;

const Page = z.object({ url: z.string() });

const createCheckout = endpoint({
  ...common,
  id: 'createCheckout',
  method: 'POST',
  path: '/users/@me/projects/{id}/checkout',
  summary: 'Get the URL of the page where a project subscribes',
  description:
    'Returns the URL of a page of the payment provider. Works while the project is disabled, ' +
    'too. SUBSCRIPTION_EXISTS: the project has a paid subscription. SERVICE_UNAVAILABLE: the ' +
    'payment provider did not respond, or refused.',
  role: 'ADMIN',
  whileDisabled: true,
  query: z.object({ currency: z.enum(currencies).default('usd') }),
  response: Page,
  problems: [...everyProblem, 'SUBSCRIPTION_EXISTS'],
  example: { response: { url: 'https://checkout.stripe.com/c/pay/cs_live_a1b2c3' } },
  async handle(call) {
    const { config, query } = call;
    const { project, publicId } = await billed(call);
    if (project.subscription !== null) throw new Problem('SUBSCRIPTION_EXISTS');
    const order = {
      projectId: publicId,
      customer: project.customer,
      email: call.caller.email,
      currency: query.currency,
      returnUrl: config.dashboardUrl,
      server: config.apiUrl,
    };
    const url = await askProvider(call, (payments) => payments.createCheckout(order));
    await noteOpened(call, 'checkout');
    return { url };
  },
});

const createBillingPortal = endpoint({
  ...common,
  id: 'createBillingPortal',
  method: 'POST',
  path: '/users/@me/projects/{id}/billing-portal',
  summary: 'Get the URL of the page with cards and invoices',
  description:
    'Returns the URL of a page of the payment provider. Works while the project is disabled, ' +
    'too. CUSTOMER_REQUIRED: the project has never subscribed. SERVICE_UNAVAILABLE: the ' +
    'payment provider did not respond, or refused.',
  role: 'ADMIN',
  whileDisabled: true,
  response: Page,
  problems: [...everyProblem, 'CUSTOMER_REQUIRED'],
  example: { response: { url: 'https://billing.stripe.com/p/session/live_a1b2c3' } },
  async handle(call) {
    const { customer } = (await billed(call)).project;
    if (customer === null) throw new Problem('CUSTOMER_REQUIRED');
    const { dashboardUrl } = call.config;
    const url = await askProvider(call, (payments) =>
      payments.createPortal(customer, dashboardUrl),
    );
    await noteOpened(call, 'portal');
    return { url };
  },
});

const LimitState = named('BillingLimit', {
  limit: z.int().nullable(),
  usage: z.int(),
  percentage: z.number(),
  isWarning: z.boolean(),
  isBlocked: z.boolean(),
});
const Limits = named('BillingLimits', {
  workflows: LimitState,
  campaigns: LimitState,
  transactional: LimitState,
  inbound: LimitState,
  currency: z.string().nullable(),
});

const unlimited = { limit: null, usage: 0, percentage: 0, isWarning: false, isBlocked: false };
const limitsExample: z.input<typeof Limits> = {
  workflows: { ...unlimited, usage: 310 },
  campaigns: { limit: 50_000, usage: 42_000, percentage: 84, isWarning: true, isBlocked: false },
  transactional: { ...unlimited, usage: 1_204 },
  inbound: unlimited,
  currency: 'eur',
};

const getBillingLimits = endpoint({
  ...common,
  id: 'getBillingLimits',
  method: 'GET',
  path: '/users/@me/projects/{id}/billing-limits',
  summary: 'Get the billing limits of a project and its usage of this month',
  description:
    'Counts are of this month, in UTC; a mail with attachments counts as two. `percentage` ' +
    'is of `limit`, which is null without a limit.',
  response: Limits,
  problems: everyProblem,
  example: { response: limitsExample },
  async handle(call) {
    const { projectId, project } = await billed(call);
    return limitsOf(call, projectId, project);
  },
});

const OwnLimit = z.int().min(1).max(2_147_483_647).nullable().optional();

const setBillingLimits = endpoint({
  ...common,
  id: 'setBillingLimits',
  method: 'PUT',
  path: '/users/@me/projects/{id}/billing-limits',
  summary: 'Set the monthly sending limits of a project',
  description:
    'Limits are in mails per month; a mail with attachments counts as two. null removes a ' +
    'limit; fields that are left out keep their value. SUBSCRIPTION_REQUIRED: without one, ' +
    'the free tier is the limit.',
  role: 'ADMIN',
  body: z.object({
    workflows: OwnLimit,
    campaigns: OwnLimit,
    transactional: OwnLimit,
    inbound: OwnLimit,
  }),
  response: Limits,
  problems: [...everyProblem, 'SUBSCRIPTION_REQUIRED'],
  example: { body: { campaigns: 50_000, inbound: null }, response: limitsExample },
  async handle(call) {
    const { projectId, project } = await billed(call);
    if (project.subscription === null) throw new Problem('SUBSCRIPTION_REQUIRED');
    const given = Object.entries(call.body).filter(([, limit]) => limit !== undefined);
    const limits = Object.fromEntries(given) as Partial<BillingProject['limits']>;
    const target = { type: 'project', id: call.params.id };
    const changed = await transact(call.db, async (tx) => {
      await holdProject(tx, projectId);
      const before = found('PROJECT', call.params.id, await findBillingProject(tx, projectId));
      await updateOwnLimits(tx, projectId, limits);
      const after = { ...before, limits: { ...before.limits, ...limits } };
      const changes = changesBetween(before.limits, after.limits);
      await call.note({ event: 'billing_limits.changed', projectId, target, changes }, tx);
      return after;
    });
    return limitsOf(call, projectId, changed);
  },
});

const getBillingConsumption = endpoint({
  ...common,
  id: 'getBillingConsumption',
  method: 'GET',
  path: '/users/@me/projects/{id}/billing-consumption',
  summary: 'Get the usage of a project in this period and its cost',
  description:
    'Amounts are in the smallest unit of the currency, such as cents. Without a subscription ' +
    'the period is the month, in UTC. SERVICE_UNAVAILABLE: the payment provider did not ' +
    'respond, or refused.',
  response: z.object({
    period: z.object({ start: Time, end: Time }),
    usage: z.object({
      total: z.int(),
      records: z.array(
        z.object({ date: z.iso.date(), category: z.enum(categories), count: z.int() }),
      ),
    }),
    credits: z
      .object({
        balance: z.int(),
        hasCredits: z.boolean(),
        creditAmount: z.int(),
        currency: z.string(),
      })
      .nullable(),
    upcomingInvoice: z
      .object({
        amountDue: z.int(),
        currency: z.string(),
        periodStart: Time,
        periodEnd: Time,
        subtotal: z.int(),
        total: z.int(),
      })
      .nullable(),
  }),
  problems: everyProblem,
  example: {
    response: {
      period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
      usage: {
        total: 1_204,
        records: [{ date: '2026-11-20', category: 'transactional', count: 1_204 }],
      },
      credits: { balance: 300, hasCredits: true, creditAmount: 500, currency: 'eur' },
      upcomingInvoice: {
        amountDue: 1_250,
        currency: 'eur',
        periodStart: '2026-11-01T00:00:00.000Z',
        periodEnd: '2026-12-01T00:00:00.000Z',
        subtotal: 1_000,
        total: 1_250,
      },
    },
  },
  async handle(call) {
    const { projectId, project } = await billed(call);
    const { customer, subscription } = project;
    const [subscribed, credits, upcoming] = await askProvider(call, (payments) =>
      Promise.all([
        subscription === null ? null : payments.findSubscription(subscription),
        customer === null ? null : payments.findCredits(customer),
        customer === null || subscription === null
          ? null
          : payments.findUpcomingInvoice(customer, subscription),
      ]),
    );
    const period = subscribed?.period ?? monthOf(new Date());
    const records = await listUsage(call.db, projectId, period);
    return {
      period: { start: time(period.start), end: time(period.end) },
      usage: { total: records.reduce((sum, { count }) => sum + count, 0), records },
      credits: credits && { ...credits, hasCredits: credits.balance > 0 },
      upcomingInvoice: upcoming && {
        ...upcoming,
        periodStart: time(upcoming.periodStart),
        periodEnd: time(upcoming.periodEnd),
      },
    };
  },
});

export const billingEndpoints = [
  createCheckout,
  createBillingPortal,
  getBillingLimits,
  setBillingLimits,
  getBillingConsumption,
];

/**
 * Notes that a user was redirected to a page of the payment provider, where the plan can be
 * changed.
 */
async function noteOpened(
  { note, member }: { note: SecurityLog['note']; member: ProjectCaller },
  page: 'checkout' | 'portal',
): Promise<void> {
  const { projectId, project } = member;
  const target = { type: 'project', id: project.publicId };
  await note({ event: 'billing.opened', projectId, target, details: { page } });
}

/** Returns the billing data of the project in the path. */
export async function billed({ db, member }: Pick<Services, 'db'> & { member: ProjectCaller }) {
  const { projectId, project } = member;
  const row = found('PROJECT', project.publicId, await findBillingProject(db, projectId));
  return { projectId, publicId: project.publicId, project: row };
}

/**
 * Calls the payment provider. Without a provider, all endpoints that call it are unavailable.
 * @throws Problem SERVICE_UNAVAILABLE when the provider does not respond, or not as expected.
 */
export async function askProvider<T>(
  { payments, log }: Pick<Services, 'payments' | 'log'>,
  ask: (payments: Payments) => Promise<T>,
): Promise<T> {
  if (!payments) throw new Problem('BILLING_DISABLED');
  try {
    return await ask(payments);
  } catch (error) {
    log.error({ reason: String(error) }, 'a call of the payment provider failed');
    throw new Problem('SERVICE_UNAVAILABLE', {
      message: 'The payment provider did not respond, or refused the request.',
      suggestion:
        'Repeat the request in a minute. If it fails again, ask the operator of this server for the reason in its log.',
    });
  }
}

async function limitsOf(
  call: Pick<Services, 'db' | 'config' | 'payments' | 'log'>,
  projectId: string,
  project: BillingProject,
): Promise<z.input<typeof Limits>> {
  const capIn = (category: Category) =>
    capOf(category, project, call.config.billing?.freeTierPerMonth ?? 0);
  const usage = await usageOf(
    call.db,
    projectId,
    categories.filter((name) => capIn(name)),
  );
  const { subscription } = project;
  const subscribed =
    subscription === null
      ? null
      : await askProvider(call, (payments) => payments.findSubscription(subscription));
  const state = (category: Category) => {
    const cap = capIn(category);
    return {
      limit: cap?.limit ?? null,
      usage: usage[category],
      percentage: cap ? percentOf(usage[category], cap.limit) : 0,
      ...usedUp(cap, usage),
    };
  };
  return {
    workflows: state('workflows'),
    campaigns: state('campaigns'),
    transactional: state('transactional'),
    inbound: state('inbound'),
    currency: subscribed?.currency ?? null,
  };
}

/**
 * Returns this month's usage by category, for sent and received mail. In a category with a limit,
 * waiting mail is included, because it already counts against the limit.
 */
async function usageOf(
  db: Services['db'],
  projectId: string,
  limited: readonly Category[],
): Promise<Record<Category, number>> {
  const usage = { workflows: 0, campaigns: 0, transactional: 0, inbound: 0 };
  for (const { category, count } of await listUsage(db, projectId, monthOf(new Date()))) {
    usage[category] += count;
  }
  const taken = limited.length > 0 ? await readTaken(db, projectId) : usage;
  for (const category of limited) usage[category] = taken[category];
  return usage;
}
