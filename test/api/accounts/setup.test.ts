import { expect, it } from 'vitest';
import { useApi } from '../../support/api.ts';
import { seedProject } from '../../support/projects/seed.ts';

const api = await useApi();

it('answers how far a project is set up, to key and cookie', async () => {
  const { cookie } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie);
  const path = `/projects/${id}/setup-state`;
  const empty = await api.request('GET', path, { key: secretKey });
  expect([empty.status, empty.body]).toEqual([
    200,
    {
      success: true,
      data: {
        hasSubscription: false,
        hasVerifiedDomain: false,
        contactCount: 0,
        lastCampaignSentAt: null,
        hasEnabledWorkflow: false,
      },
    },
  ]);
  const { workflowId } = await seedProject(api.db, id, 'setup');
  await api.db
    .updateTable('workflow')
    .set({ enabled: true })
    .where('id', '=', workflowId)
    .execute();
  await api.db.updateTable('project').set({ subscription: 'sub_1' }).where('id', '=', id).execute();
  await api.db
    .insertInto('campaign')
    .values({
      project_id: id,
      name: 'News',
      subject: 'News',
      body: '',
      from_email: 'a@setup.test',
      audience_type: 'ALL',
      message_class: 'MARKETING',
      status: 'SENT',
      sent_at: '2026-11-20T10:00:00.000Z',
    })
    .execute();
  const full = await api.request('GET', path, { cookie });
  expect(full.body.data).toEqual({
    hasSubscription: true,
    hasVerifiedDomain: true,
    contactCount: 1,
    lastCampaignSentAt: '2026-11-20T10:00:00.000Z',
    hasEnabledWorkflow: true,
  });
});

it('answers a foreign key 404 PROJECT_NOT_FOUND', async () => {
  const { cookie } = await api.signUp();
  const mine = await api.createProject(cookie);
  const other = await api.createProject((await api.signUp()).cookie);
  const { status, body } = await api.request('GET', `/projects/${other.id}/setup-state`, {
    key: mine.secretKey,
  });
  expect([status, body.error.code]).toEqual([404, 'PROJECT_NOT_FOUND']);
});
