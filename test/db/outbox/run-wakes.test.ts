import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { markSent, enqueue, listPending } from '../../../db/outbox/outbox.ts';
import { useApi } from '../../support/api.ts';

const api = await useApi();

/** As a campaign that is paused, resumed or edited asks for it. */
const wake = (campaignId: string) =>
  api.db.transaction().execute((tx) =>
    enqueue(tx, {
      kind: 'campaignSend',
      input: { projectId: randomUUID(), campaignId },
      summary: 'News',
    }),
  );

it('what was asked for again while Temporal was told stays', async () => {
  const campaignId = randomUUID();
  const runId = await wake(campaignId);
  const told = await listPending(api.db, [runId]);
  await wake(campaignId);
  await markSent(api.db, told);
  expect(await listPending(api.db, [runId])).toHaveLength(1);
});

it('so does what was asked for after another process had told it and forgotten it', async () => {
  const campaignId = randomUUID();
  const runId = await wake(campaignId);
  const told = await listPending(api.db, [runId]);
  await markSent(api.db, told);
  expect(await listPending(api.db, [runId])).toEqual([]);
  await wake(campaignId);
  await markSent(api.db, told);
  expect(await listPending(api.db, [runId])).toHaveLength(1);
});
