import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { defaultTaskQueue, sweepIdOf } from '../../../domain/runs/runs.ts';
import { ensureSweep } from '../../../workflows/client/schedule.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { createWorkflow } from '../../support/histories/executions.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Temporal shows operators only the data that the documentation lists. */

const engine = await useEngine();

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** The id formats of all kinds of runs. */
const forms = {
  execution: `execution-${uuid}`,
  campaign: `campaign-${uuid}`,
  delivery: `delivery-${uuid}`,
  domain: `domain-${uuid}`,
  import: `import-${uuid}-${uuid}`,
  bulk: `bulk-[a-z]+-${uuid}-${uuid}`,
  reset: `project-reset-${uuid}`,
  delete: `project-delete-${uuid}`,
  test: `campaign-test-${uuid}`,
  mail: `platform-mail-${uuid}`,
};

const formOf = (id: string) =>
  Object.entries(forms).find(([, form]) => new RegExp(`^${form}$`).test(id))?.[0] ?? id;

/** Does everything in Everpost that has a run. */
async function doEverything(): Promise<void> {
  const { api, call, domain } = engine;
  const mail = { from: `team@${domain}`, subject: 'Hi', body: '<p>Hi</p>' };
  await createWorkflow(engine, {
    eventName: 'signed up',
    steps: [{ type: 'EXIT', name: 'Out' }],
  });
  await call('POST', '/v1/track', { email: 'ada@people.test', event: 'signed up' });
  await call('POST', '/v1/send', { ...mail, to: 'ada@people.test' });
  await insertContacts(engine, 2);
  const campaignId = await createCampaign(engine);
  await act(engine, campaignId, 'test', { email: 'me@people.test' });
  await act(engine, campaignId, 'send', {});
  await campaignIn(engine, campaignId, 'SENT');
  await endOfJob(engine, await importFile(engine, 'email\nbob@people.test\n'));
  const filter = { mode: 'query', filter: {} };
  expect((await call('POST', '/contacts/bulk-unsubscribe', filter)).status).toBe(202);
  const { cookie } = await api.signUp();
  const other = await api.createProject(cookie);
  const path = `/users/@me/projects/${other.id}`;
  expect((await api.request('POST', `${path}/reset`, { cookie })).status).toBe(200);
  expect((await api.request('DELETE', path, { cookie })).status).toBe(200);
  api.services.config.platformFrom = 'noreply@platform.test';
  await api.signUp();
}

it('Temporal holds the runs that are documented, and no other', async () => {
  await doEverything();
  const { client } = engine.temporal;
  const query = `TaskQueue = '${engine.taskQueue}' or TaskQueue = '${engine.taskQueue}-mail'`;
  const found = await waitFor('every kind of run', async () => {
    const kinds = new Set<string>();
    for await (const { workflowId } of client.workflow.list({ query })) {
      kinds.add(formOf(workflowId));
    }
    return kinds.size >= Object.keys(forms).length ? kinds : null;
  });
  expect([...found].toSorted()).toEqual(Object.keys(forms).toSorted());
});

it('Temporal holds no schedule but the sweep and those of workflows', async () => {
  expect(sweepIdOf(defaultTaskQueue)).toBe('sweep');
  const { client } = engine.temporal;
  const queue = `queue-${randomUUID()}`;
  await ensureSweep(client, queue);
  const ids = await waitFor('the schedule', async () => {
    const listed: string[] = [];
    for await (const { scheduleId } of client.schedule.list()) listed.push(scheduleId);
    return listed.includes(sweepIdOf(queue)) ? listed : null;
  });
  await client.schedule.getHandle(sweepIdOf(queue)).delete();
  expect(ids.filter((id) => !/^(sweep(-|$)|schedule-)/.test(id))).toEqual([]);
});
