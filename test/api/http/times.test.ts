import { describe, expect, it } from 'vitest';
import { newAddress, refusal, useShop } from '../../support/projects/shop.ts';

/** Every time in a request may have any form of ISO 8601 that names an instant. */

const shop = await useShop();
const year = new Date().getUTCFullYear() + 1;
const at = `${year}-01-02T06:00:00.000Z`;
const forms = [
  `${year}-01-02T08:00:00+02:00`,
  `${year}-01-02T08:00:00+0200`,
  `${year}-01-02T08:00:00+02`,
  `${year}-01-02T08:00+02`,
  `${year}-01-02T06:00:00,000Z`,
  `${year}0102T080000+0200`,
  `${year}0102T0800+02:00`,
  `${year}0102T060000,0Z`,
];
const wrong = [
  `${year}-02-30T08:00:00+0200`,
  `${year}0230T080000Z`,
  `${year}0102`,
  `${year}0102T08:00:00Z`,
  `${year}-01-02T080000Z`,
  `${year}-01-02T08:00:00`,
  `${year}-01-02T08:00:00+2`,
];

describe('a time in a request', () => {
  it.each(forms)('%s is read', async (scheduledFor) => {
    const { status, body } = await shop.send({ to: newAddress(), scheduledFor });
    expect([status, body.data?.scheduledFor]).toEqual([200, at]);
    const query = `startedAfter=${encodeURIComponent(scheduledFor)}`;
    expect((await shop.call('GET', `/executions?${query}`)).status).toBe(200);
    const range = `startDate=2026-01-01&endDate=${encodeURIComponent(scheduledFor)}`;
    expect((await shop.call('GET', `/events/stats?${range}`)).status).toBe(200);
    const filter = { field: 'createdAt', operator: 'lessThan', value: scheduledFor };
    const filters = { operator: 'AND', conditions: [filter] };
    expect((await shop.call('POST', '/segments', { name: 'S', filters })).status).toBe(201);
  });

  it.each(wrong)('%s is refused', async (scheduledFor) => {
    expect(refusal(await shop.send({ to: newAddress(), scheduledFor }))).toEqual([
      422,
      'VALIDATION_ERROR',
      'scheduledFor invalid_date',
    ]);
  });

  it.each(forms)('%s of a contact is one to segments', async (since) => {
    const email = newAddress();
    await shop.call('POST', '/contacts', { email, data: { since, mark: email } });
    const conditions = [
      { field: 'data.mark', operator: 'equals', value: email },
      { field: 'data.since', operator: 'equals', value: `${year}-01-02` },
      { field: 'data.since', operator: 'within', value: 1, unit: 'days' },
    ];
    const filters = { operator: 'AND', conditions };
    const { body } = await shop.call('POST', '/segments', { name: 'S', filters });
    expect(body.memberCount).toBe(1);
  });
});
