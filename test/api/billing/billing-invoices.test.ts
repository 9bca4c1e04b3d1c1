import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useBilling, subscribed } from '../../support/projects/billed-project.ts';
import { writeMail } from '../../support/mail-tables.ts';

const billing = await useBilling();
const { api, billedProject, sent } = billing;

describe('GET billing-consumption', () => {
  it('answers usage by day and category, credits and the next invoice', async () => {
    const project = await billedProject(subscribed);
    await sent(project.id, 3, 'CAMPAIGN');
    await sent(project.id, 2, 'TRANSACTIONAL');
    await writeMail(api.db, (tx) =>
      sql`update email set sent_at = '2026-11-05T23:59:59Z'
      where project_id = ${project.id} and source_type = 'CAMPAIGN'`.execute(tx),
    );
    await writeMail(api.db, (tx) =>
      sql`update email set sent_at = '2026-10-31T23:59:59Z'
      where project_id = ${project.id} and source_type = 'TRANSACTIONAL'`.execute(tx),
    );
    const { status, body } = await project.get('billing-consumption');
    expect([status, body]).toEqual([
      200,
      {
        period: { start: '2026-11-01T00:00:00.000Z', end: '2026-12-01T00:00:00.000Z' },
        usage: { total: 3, records: [{ date: '2026-11-05', category: 'campaigns', count: 3 }] },
        credits: { balance: 300, hasCredits: true, creditAmount: 500, currency: 'eur' },
        upcomingInvoice: {
          amountDue: 1250,
          currency: 'eur',
          periodStart: '2026-11-01T00:00:00.000Z',
          periodEnd: '2026-12-01T00:00:00.000Z',
          subtotal: 1000,
          total: 1250,
        },
      },
    ]);
  });

  it('answers the month in UTC and no money without a subscription', async () => {
    const { status, body } = await (await billedProject()).get('billing-consumption');
    expect(status).toBe(200);
    expect(body).toMatchObject({ usage: { total: 0 }, credits: null, upcomingInvoice: null });
    expect(body.period.start).toMatch(/-01T00:00:00\.000Z$/);
  });
});

describe('GET billing-invoices', () => {
  it('answers the invoices and which are unpaid', async () => {
    const project = await billedProject({ customer: 'cus_1' });
    const { status, body } = await project.get('billing-invoices');
    expect(status).toBe(200);
    expect(
      body.invoices.map((each: { id: string; paid: boolean }) => [each.id, each.paid]),
    ).toEqual([
      ['in_2', false],
      ['in_1', true],
    ]);
    expect(Object.keys(body.invoices[0]).toSorted()).toEqual(
      [
        'id',
        'number',
        'status',
        'amountDue',
        'amountPaid',
        'currency',
        'created',
        'periodStart',
        'periodEnd',
        'hostedInvoiceUrl',
        'invoicePdf',
        'subtotal',
        'total',
        'paid',
      ].toSorted(),
    );
    expect(body.hasUnpaidInvoices).toBe(true);
    expect(body.unpaidInvoices).toEqual([
      {
        id: 'in_2',
        number: 'E-2',
        amountDue: 1250,
        currency: 'eur',
        dueDate: '2026-12-01T00:00:00.000Z',
        hostedInvoiceUrl: 'https://invoice.stripe.test/1',
      },
    ]);
  });

  it('answers none without a customer', async () => {
    const { body } = await (await billedProject()).get('billing-invoices');
    expect(body).toEqual({ invoices: [], hasUnpaidInvoices: false, unpaidInvoices: [] });
  });
});
