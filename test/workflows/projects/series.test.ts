import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import { trackedMail } from '../../support/projects/engagement.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();
const { api } = engine;

type Point = Record<string, number> & { at: string };

/** Adds up the points of a series by kind. */
async function sumsOf(query: string): Promise<Record<string, number>> {
  const { body } = await engine.call('GET', `/analytics/series?interval=minute${query}`);
  const sums: Record<string, number> = {};
  for (const { at: _, ...counts } of body.points as Point[]) {
    for (const [kind, count] of Object.entries(counts)) sums[kind] = (sums[kind] ?? 0) + count;
  }
  return sums;
}

it('adds up to the statistics of a campaign, and of its project', async () => {
  const names = ['success', 'success', 'bounce', 'complaint'];
  const contactIds = await Promise.all(
    names.map((name) => createContact(engine, `${name}+${randomUUID()}@simulator.test`)),
  );
  const goal = { eventName: 'bought', valueField: 'total', windowDays: 1, touch: 'sent' };
  const id = await createCampaign(engine, { goal });
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  const mailOf = async (contactId: string) =>
    (await engine.call('GET', `/campaigns/${id}/recipients/${contactId}`)).body.emailId as string;
  const emailId = await mailOf(contactIds[0]!);
  await trackedMail(api, emailId, []).open();
  await api.request('POST', `/unsubscribe/${contactIds[0]}?e=${emailId}`);
  const { body: contact } = await engine.call('GET', `/contacts/${contactIds[0]}`);
  for (const total of [12.5, -2]) {
    const event = { email: contact.email, event: 'bought', data: { total } };
    expect((await engine.call('POST', '/v1/track', event)).status).toBe(200);
  }
  const stats = await waitFor('all feedback', async () => {
    const { data } = (await engine.call('GET', `/campaigns/${id}/stats`)).body;
    const { humanOpenedCount, bouncedCount, complainedCount, unsubscribedCount } = data;
    // A verdict on an open comes after some seconds.
    return humanOpenedCount * bouncedCount * complainedCount * unsubscribedCount > 0 ? data : null;
  });
  const sums = await sumsOf(`&campaignId=${id}`);
  const expected = {
    sent: stats.sentCount,
    delivered: stats.deliveredCount,
    opens: stats.openedCount,
    clicks: stats.clickedCount,
    humanOpens: stats.humanOpenedCount,
    humanClicks: stats.humanClickedCount,
    conversions: stats.goal.conversions,
    value: stats.goal.value,
    bounces: stats.bouncedCount,
    complaints: stats.complainedCount,
    unsubscribes: stats.unsubscribedCount,
  };
  expect(expected).toMatchObject({
    sent: 4,
    opens: 1,
    humanOpens: 1,
    conversions: 2,
    value: 10.5,
    bounces: 1,
    complaints: 1,
    unsubscribes: 1,
  });
  expect(sums).toEqual(expected);
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  expect(await sumsOf(`&startDate=${hourAgo}`)).toMatchObject(expected);
});
