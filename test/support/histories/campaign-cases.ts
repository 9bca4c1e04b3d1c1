import { randomUUID } from 'node:crypto';
import { transact } from '../../../db/database.ts';
import { signalCampaign } from '../../../db/outbox/outbox.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  insertContacts,
} from '../projects/campaigns.ts';
import { newAddress } from '../projects/shop.ts';
import { createContact } from './executions.ts';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';

/** The cases of campaigns and system mail. */
export const campaignHistoryCases: Record<string, (engine: Engine) => Promise<string>> = {
  async 'campaign-sent'(engine) {
    await insertContacts(engine, 3);
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    return `campaign-${id}`;
  },
  async 'campaign-scheduled-and-cancelled'(engine) {
    await insertContacts(engine, 1);
    const id = await createCampaign(engine);
    await act(engine, id, 'send', { scheduledFor: Date.now() + 3_600_000 });
    await runIsThere(engine, `campaign-${id}`);
    await act(engine, id, 'send', { scheduledFor: Date.now() + 7_200_000 });
    await act(engine, id, 'cancel');
    return `campaign-${id}`;
  },
  async 'campaign-paused-and-resumed'(engine) {
    await insertContacts(engine, 3);
    const id = await createCampaign(engine);
    const { db } = engine.api;
    // The campaign is paused before its run first reads the row.
    const row = await db
      .updateTable('campaign')
      .set({ status: 'PAUSED', paused_reason: 'requested', frozen_at: new Date() })
      .where('id', '=', id)
      .returning(['id', 'project_id', 'name'])
      .executeTakeFirstOrThrow();
    await transact(db, (tx) => signalCampaign(tx, row));
    await runIsThere(engine, `campaign-${id}`);
    await act(engine, id, 'resume');
    await campaignIn(engine, id, 'SENT');
    return `campaign-${id}`;
  },
  // The send time of one zone passes while that of the other is in the future.
  async 'campaign-local-time'(engine) {
    for (const timeZone of ['Etc/UTC', 'Etc/GMT+1']) {
      await createContact(engine, newAddress(), { data: { timeZone } });
    }
    const id = await createCampaign(engine);
    const localTime = new Date(Date.now() + 5_000).toISOString().slice(0, 19);
    await act(engine, id, 'send', { localTime });
    await waitFor('the first mail', async () => (await campaignOf(engine, id)).sentCount === 1);
    await act(engine, id, 'cancel');
    return `campaign-${id}`;
  },
  async 'campaign-experiment-decided'(engine) {
    await insertContacts(engine, 20);
    const id = await createExperiment(engine, { decideAfterSeconds: 1, minPerArm: 100 });
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    return `campaign-${id}`;
  },
  async 'campaign-experiment-decided-by-a-person'(engine) {
    await insertContacts(engine, 20);
    const id = await createExperiment(engine, { decideAfterSeconds: 3_600 });
    await act(engine, id, 'send');
    await testIsSent(engine, id);
    await act(engine, id, 'experiment/decide', { arm: 'b' });
    await campaignIn(engine, id, 'SENT');
    return `campaign-${id}`;
  },
  async 'campaign-experiment-cancelled'(engine) {
    await insertContacts(engine, 20);
    const id = await createExperiment(engine, { decideAfterSeconds: 3_600 });
    await act(engine, id, 'send');
    await testIsSent(engine, id);
    await act(engine, id, 'cancel');
    return `campaign-${id}`;
  },
  async 'system-mail'(engine) {
    const id = await createCampaign(engine);
    const to = `${randomUUID()}@people.test`;
    await engine.call('POST', `/campaigns/${id}/test`, { email: to });
    const [mail] = await engine.mailsTo(to, 1);
    return `campaign-test-${mail?.id}`;
  },
};

function createExperiment(engine: Engine, given: object): Promise<string> {
  const arms = [{ id: 'a' }, { id: 'b', subject: 'Only today' }];
  const experiment = { arms, testPercent: 50, metric: 'human_click', ...given };
  return createCampaign(engine, { experiment });
}

/** Waits until the run of a campaign waits for the decision of its experiment. */
async function testIsSent(engine: Engine, id: string): Promise<void> {
  await waitFor('the test', async () => {
    const { body } = await engine.call('GET', `/campaigns/${id}/experiment`);
    return body.data.decideAt;
  });
  await runIsThere(engine, `campaign-${id}`);
}

/** Waits until a run has read its row and waits. */
async function runIsThere(engine: Engine, runId: string): Promise<void> {
  const handle = engine.temporal.client.workflow.getHandle(runId);
  await waitFor('the run to rest', async () => {
    const run = await handle.describe().catch(() => null);
    return run && run.historyLength > 8 && !run.raw.pendingWorkflowTask;
  });
}
