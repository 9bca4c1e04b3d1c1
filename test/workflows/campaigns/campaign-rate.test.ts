import { expect, it } from 'vitest';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Campaigns with their own limit. */

const engine = await useEngine();

const sentTimes = async (id: string) =>
  (
    await engine.api.db
      .selectFrom('email')
      .select(['sent_at', 'trace'])
      .where('campaign_id', '=', id)
      .where('sent_at', 'is not', null)
      .orderBy('sent_at')
      .execute()
  ).map(({ sent_at, trace }) => ({ at: sent_at!.getTime(), trace }));

it('hands over so many in a minute, and goes on faster when the limit is lifted', async () => {
  const to = await insertContacts(engine, 10);
  const id = await createCampaign(engine, { maxPerMinute: 120 });
  await act(engine, id, 'send');
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 10, maxPerMinute: 120 });
  const times = await sentTimes(id);
  expect(times.at(-1)!.at - times[0]!.at).toBeGreaterThanOrEqual(3_500);
  // Most waited, and each trace has that once.
  const throttled = times.map(
    ({ trace }) =>
      (trace as { state: string }[]).filter(({ state }) => state === 'throttled').length,
  );
  expect(Math.max(...throttled)).toBe(1);
  const buckets = engine.api.db.selectFrom('token_bucket').select('key');
  expect(await buckets.where('key', '=', `campaign ${id}`).execute()).toEqual([]);

  const slow = await createCampaign(engine, { maxPerMinute: 60 });
  await act(engine, slow, 'send');
  await waitFor('some', async () => (await campaignOf(engine, slow)).sentCount >= 2);
  const { body: stats } = await engine.call('GET', `/campaigns/${slow}/stats`);
  expect(stats.data.progress).toMatchObject({ limitedBy: 'campaign_rate' });
  await act(engine, slow, 'pause');
  const put = await engine.call('PUT', `/campaigns/${slow}`, { maxPerMinute: null });
  expect([put.status, put.body.data.maxPerMinute]).toEqual([200, null]);
  await act(engine, slow, 'resume');
  const resumedAt = Date.now();
  expect(await campaignIn(engine, slow, 'SENT')).toMatchObject({ sentCount: 10 });
  expect(Date.now() - resumedAt).toBeLessThan(6_000);
  for (const address of to) expect(await engine.mailsTo(address, 2)).toHaveLength(2);
});
