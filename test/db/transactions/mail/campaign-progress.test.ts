import { expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../../db/transactions/mail/record-outcomes.ts';
import { useApi } from '../../../support/api.ts';
import { insertClaimedEmail, insertTestCampaign } from '../../../support/projects/mails.ts';

const api = await useApi();

it('refusals count once when they are recorded again, because the answer was lost', async () => {
  const { id: projectId, secretKey } = await api.createProject((await api.signUp()).cookie);
  const campaignId = await insertTestCampaign(api.db, projectId);
  const { body } = await api.request('POST', '/contacts', {
    key: secretKey,
    body: { email: 'ada@x.example' },
  });
  const { emailId, attempt } = await insertClaimedEmail(api.db, {
    projectId,
    contactId: body.id,
    campaignId,
  });
  const record = () =>
    recordDeliveryOutcomes(api.db, {
      ...attempt,
      outcomes: [{ emailId, kind: 'refused', error: '550 No.' }],
      campaign: { ...attempt.campaign, pauseOnFailures: 2 },
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
