import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';

const engine = await useEngine({ RAMP_DAY_SECONDS: '8' });

it('sends a campaign over several days, never more than a day allows', async () => {
  const given = { domain: engine.domain, startPerDay: 3, factor: 2, days: 30 };
  const { body: ramp } = await engine.call('POST', '/ramps', given);
  await insertContacts(engine, 15);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  expect(await campaignIn(engine, id, 'SENT', 60_000)).toMatchObject({ sentCount: 15 });
  const { body } = await engine.call('GET', `/ramps/${ramp.id}`);
  const days = [...body.history, { cap: body.cap, sent: body.used }];
  for (const { cap, sent } of days) expect(sent).toBeLessThanOrEqual(cap);
  expect(days.reduce((sum, { sent }) => sum + sent, 0)).toBe(15);
  expect(days.length).toBeGreaterThan(2);
  await engine.call('DELETE', `/ramps/${ramp.id}`);
});
