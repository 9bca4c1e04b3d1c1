import { expect, it } from 'vitest';
import { recordDeliveryOutcomes } from '../../../../db/transactions/mail/record-outcomes.ts';
import { useApi } from '../../../support/api.ts';
import { insertClaimedEmail, insertTestCampaign } from '../../../support/projects/mails.ts';

const api = await useApi();

it('replaces the whole content of an earlier attempt, with its headers', async () => {
  const { id: projectId, secretKey: key } = await api.createProject((await api.signUp()).cookie);
  const campaignId = await insertTestCampaign(api.db, projectId);
  const body = { email: 'ada@people.test' };
  const { body: contact } = await api.request('POST', '/contacts', { key, body });
  const { emailId, attempt } = await insertClaimedEmail(
    api.db,
    { projectId, contactId: contact.id, campaignId },
    { subject: 'Old', headers: JSON.stringify([{ name: 'X-Old', value: '1' }]) },
  );
  const content = { subject: 'New', bodyTemplate: 'b', values: [] };
  await recordDeliveryOutcomes(api.db, {
    ...attempt,
    outcomes: [{ emailId, kind: 'uncertain', error: 'It broke.', content }],
  });
  const row = await api.db
    .selectFrom('email')
    .select(['subject', 'headers'])
    .where('id', '=', emailId)
    .executeTakeFirstOrThrow();
  expect(row).toEqual({ subject: 'New', headers: [] });
});
