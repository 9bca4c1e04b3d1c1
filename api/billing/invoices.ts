import { z } from 'zod';
import type { Invoice as PaidInvoice } from '../../providers/payments/stripe.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time, ById } from '../http/schemas.ts';
import { askProvider, billed } from './billing.ts';

const Invoice = named('Invoice', {
  id: z.string(),
  number: z.string().nullable(),
  status: z.string().nullable(),
  amountDue: z.int(),
  amountPaid: z.int(),
  currency: z.string(),
  created: Time,
  periodStart: Time,
  periodEnd: Time,
  hostedInvoiceUrl: z.string().nullable(),
  invoicePdf: z.string().nullable(),
  subtotal: z.int(),
  total: z.int(),
  paid: z.boolean(),
});

const UnpaidInvoice = named('UnpaidInvoice', {
  id: z.string(),
  number: z.string().nullable(),
  amountDue: z.int(),
  currency: z.string(),
  dueDate: Time.nullable(),
  hostedInvoiceUrl: z.string().nullable(),
});

const getBillingInvoices = endpoint({
  id: 'getBillingInvoices',
  method: 'GET',
  path: '/users/@me/projects/{id}/billing-invoices',
  summary: 'List the invoices of a project, newest first',
  description:
    'Amounts are in the smallest unit of the currency, such as cents. SERVICE_UNAVAILABLE: ' +
    'the payment provider did not respond, or refused.',
  access: 'session',
  projectParam: 'id',
  params: ById,
  unavailable: (config) => (config.billing ? null : 'BILLING_DISABLED'),
  response: z.object({
    invoices: z.array(Invoice),
    hasUnpaidInvoices: z.boolean(),
    unpaidInvoices: z.array(UnpaidInvoice),
  }),
  problems: ['BILLING_DISABLED'],
  example: {
    response: {
      invoices: [
        {
          id: 'in_1',
          number: 'E-1',
          status: 'paid',
          amountDue: 1_250,
          amountPaid: 1_250,
          currency: 'eur',
          created: '2026-11-01T00:00:00.000Z',
          periodStart: '2026-10-01T00:00:00.000Z',
          periodEnd: '2026-11-01T00:00:00.000Z',
          hostedInvoiceUrl: 'https://invoice.stripe.com/i/1',
          invoicePdf: 'https://invoice.stripe.com/i/1.pdf',
          subtotal: 1_000,
          total: 1_250,
          paid: true,
        },
      ],
      hasUnpaidInvoices: false,
      unpaidInvoices: [],
    },
  },
  async handle(call) {
    const { customer } = (await billed(call)).project;
    const invoices =
      customer === null
        ? []
        : await askProvider(call, (payments) => payments.listInvoices(customer));
    const unpaid = invoices.filter(({ status }) => status === 'open' || status === 'uncollectible');
    return {
      invoices: invoices.map(presentInvoice),
      hasUnpaidInvoices: unpaid.length > 0,
      unpaidInvoices: unpaid.map((invoice) => ({
        id: invoice.id,
        number: invoice.number,
        amountDue: invoice.amountDue,
        currency: invoice.currency,
        dueDate: time(invoice.dueDate),
        hostedInvoiceUrl: invoice.hostedInvoiceUrl,
      })),
    };
  },
});

export const invoiceEndpoints = [getBillingInvoices];

function presentInvoice(invoice: PaidInvoice) {
  return {
    ...invoice,
    created: time(invoice.created),
    periodStart: time(invoice.periodStart),
    periodEnd: time(invoice.periodEnd),
    paid: invoice.status === 'paid',
  };
}
