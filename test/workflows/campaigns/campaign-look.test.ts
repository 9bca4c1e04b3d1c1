import { once } from 'node:events';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { createCampaignControl } from '../../../activities/mail/campaign-control.ts';
import { createCampaign } from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';

const engine = await useEngine({}, { worker: false });

it('a look at a campaign shows that it is alive while another transaction locks the row', async () => {
  const campaignId = await createCampaign(engine);
  const environment = new MockActivityEnvironment();
  const { ADVANCE_CAMPAIGN } = createCampaignControl(engine.services);
  const look = await engine.api.db.transaction().execute(async (tx) => {
    await tx
      .selectFrom('campaign')
      .select('id')
      .where('id', '=', campaignId)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const beat = once(environment, 'heartbeat');
    const looking = environment.run(ADVANCE_CAMPAIGN, {
      projectId: engine.project.id,
      campaignId,
    });
    await beat;
    return { looking };
  });
  expect(await look.looking).toMatchObject({ phase: 'over' });
});
