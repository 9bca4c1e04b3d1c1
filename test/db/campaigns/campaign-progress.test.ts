import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../db/emails/outcomes.ts';
import { useApi } from '../../support/api.ts';
import { insertTestCampaign, insertTestEmail } from '../../support/projects/mails.ts';

const api = await useApi();

it('refusals count once when they are recorded again, because the answer was lost', async () => {
  const { id: projectId, secretKey } = await api.createProject((await api.signUp()).cookie);
  const campaignId = await insertTestCampaign(api.db, projectId);
  const { body } = await api.request('POST', '/contacts', {
    key: secretKey,
    body: { email: 'ada@x.example' },
  });
  const attemptId = randomUUID();
  const lease_until = new Date(Date.now() + 60_000);
  const emailId = await insertTestEmail(
    api.db,
    { projectId, contactId: body.id, campaignId },
    { status: 'SENDING', sent_at: null, message_id: null, attempt_id: attemptId, lease_until },
  );
  const record = () =>
    recordDeliveryOutcomes(api.db, {
      projectId,
      attemptIds: [attemptId],
      outcomes: [{ emailId, kind: 'refused', error: '550 No.' }],
      campaign: { id: campaignId, pauseOnFailures: 2 },
    });
  await record();
  await record();
  const campaign = await api.db
    .selectFrom('campaign')
    .select(['status', 'refused_in_row'])
    .where('id', '=', campaignId)
    .executeTakeFirstOrThrow();
  expect(campaign).toEqual({ status: 'SENDING', refused_in_row: 1 });
});
