import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { act, campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import { pixelOf } from '../../support/pixel.ts';
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
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  const mailOf = async (contactId: string) =>
    (await engine.call('GET', `/campaigns/${id}/recipients/${contactId}`)).body.emailId as string;
  const emailId = await mailOf(contactIds[0]!);
  await api.request('GET', pixelOf(api, emailId));
  await api.request('POST', `/unsubscribe/${contactIds[0]}?e=${emailId}`);
  const stats = await waitFor('all feedback', async () => {
    const { data } = (await engine.call('GET', `/campaigns/${id}/stats`)).body;
    const { openedCount, bouncedCount, complainedCount, unsubscribedCount } = data;
    return openedCount * bouncedCount * complainedCount * unsubscribedCount > 0 ? data : null;
  });
  // People are counted when their verdicts are settled.
  const { humanOpens: _, humanClicks: __, ...sums } = await sumsOf(`&campaignId=${id}`);
  const expected = {
    sent: stats.sentCount,
    delivered: stats.deliveredCount,
    opens: stats.openedCount,
    clicks: stats.clickedCount,
    bounces: stats.bouncedCount,
    complaints: stats.complainedCount,
    unsubscribes: stats.unsubscribedCount,
  };
  expect(expected).toMatchObject({ sent: 4, opens: 1, bounces: 1, complaints: 1, unsubscribes: 1 });
  expect(sums).toEqual(expected);
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
  expect(await sumsOf(`&startDate=${hourAgo}`)).toMatchObject(expected);
});
