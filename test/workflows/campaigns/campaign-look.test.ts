import { once } from 'node:events';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCampaignControl } from '../../../activities/mail/campaign.ts';
import { createLog } from '../../../worker/log.ts';
import { createServices } from '../../../worker/services.ts';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { type Engine, startEngine } from '../../support/engine.ts';

let engine: Engine;
let worker: Awaited<ReturnType<typeof createServices>>;
beforeAll(async () => {
  engine = await startEngine({}, { worker: false });
  const { api, temporal } = engine;
  const log = createLog(api.services.config, api.log.stream);
  worker = await createServices(api.services.config, api.db, temporal.client, log);
});
afterAll(async () => {
  await worker.close();
  await engine.close();
});

it('a look at a campaign says that it is alive while somebody else holds the row', async () => {
  const campaignId = await createCampaign(engine);
  const environment = new MockActivityEnvironment();
  const { LOOK_AT_CAMPAIGN } = createCampaignControl(worker.services);
  const look = await engine.api.db.transaction().execute(async (tx) => {
    await tx
      .selectFrom('campaign')
      .select('id')
      .where('id', '=', campaignId)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const beat = once(environment, 'heartbeat');
    const looking = environment.run(LOOK_AT_CAMPAIGN, {
      projectId: engine.project.id,
      campaignId,
    });
    await beat;
    return { looking };
  });
  expect(await look.looking).toMatchObject({ phase: 'over' });
});
