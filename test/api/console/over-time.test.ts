import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useActivityShop } from '../../support/projects/activity-shop.ts';
import { newVisitor } from '../../support/visitor.ts';

const { shop, insertCampaign, insertEmail } = await useActivityShop();
const { api, project } = shop;
const member = await api.signUp();
await api.db
  .insertInto('membership')
  .values({ project_id: project.id, user_id: member.userId, role: 'MEMBER' })
  .execute();
const visitor = newVisitor(api, member.cookie);
const open = (path: string) => visitor.open(`/console/${project.id}${path}`);

it('draws what happened to the mail of a campaign by day, hour or minute', async () => {
  const campaignId = await insertCampaign({ status: 'SENT', frozen_at: '2026-03-01T09:00:00Z' });
  await insertEmail({
    source_type: 'CAMPAIGN',
    campaign_id: campaignId,
    status: 'OPENED',
    sent_at: '2026-03-01T09:00:40Z',
    opened_at: '2026-03-03T10:00:00Z',
  });
  const { html: campaign } = await open(`/campaigns/${campaignId}`);
  expect(campaign).toContain(`/campaigns/${campaignId}/over-time`);
  const { status, html } = await open(`/campaigns/${campaignId}/over-time`);
  expect(status).toBe(200);
  expect(html).toContain('points="0,0 1,100 2,100"');
  expect(html).toContain('3 Mar 2026');
  expect(html).not.toContain('2 Mar 2026');
  const { html: hours } = await open(`/campaigns/${campaignId}/over-time?interval=hour`);
  expect(hours).toContain('viewBox="0 -2 49 104"');
});

it('has no chart while a campaign has not begun', async () => {
  const { html } = await open(`/campaigns/${await insertCampaign()}/over-time`);
  expect(html).toContain('Nothing has happened in this time.');
  expect(html).not.toContain('<polyline');
});

it('shows the numbers of a template', async () => {
  const templateId = await shop.createTemplate({ name: 'Welcome' });
  await insertEmail({ template_id: templateId, status: 'SENT', sent_at: new Date() });
  expect((await open(`/templates/${templateId}`)).html).toContain('/over-time');
  expect((await open(`/templates/${templateId}/over-time`)).html).toContain('Welcome over time');
});

it('says that a campaign is not there', async () => {
  expect((await open(`/campaigns/${randomUUID()}/over-time`)).status).toBe(404);
});
