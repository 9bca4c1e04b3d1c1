import { insertTestEmail } from '../projects/mails.ts';
import type { Play } from './play.ts';

const draft = (name: string) => ({
  name,
  subject: 'Hello',
  body: '<p>Hello</p>',
  from: 'team@changes.test',
  audienceType: 'ALL',
});

/** Changes of campaigns, in the order in which they are possible. */
export const campaignChanges: Play[] = [
  {
    id: 'createCampaign',
    event: 'campaign.created',
    body: draft('Spring'),
    makes: 'campaign',
    async prepare({ api, project: { secretKey: key } }) {
      await api.request('POST', '/domains', { key, body: { domain: 'changes.test' } });
      await api.request('POST', '/contacts', { key, body: { email: 'ada@people.test' } });
    },
  },
  {
    id: 'updateCampaign',
    event: 'campaign.changed',
    body: { subject: 'Last day' },
  },
  { id: 'sendCampaign', event: 'campaign.sent', body: {} },
  { id: 'pauseCampaign', event: 'campaign.paused' },
  { id: 'resumeCampaign', event: 'campaign.resumed' },
  { id: 'cancelCampaign', event: 'campaign.cancelled' },
  { id: 'archiveCampaign', event: 'campaign.archived' },
  { id: 'unarchiveCampaign', event: 'campaign.unarchived' },
  {
    id: 'followUpCampaign',
    event: 'campaign.created',
    body: { outcome: 'not_opened' },
    makes: 'followUp',
    async prepare({ api: { db }, project, ids }) {
      const contact = await db
        .selectFrom('contact')
        .select('id')
        .where('project_id', '=', project.id)
        .executeTakeFirstOrThrow();
      const to = { projectId: project.id, contactId: contact.id, campaignId: ids['campaign']! };
      await insertTestEmail(db, to);
    },
  },
  { id: 'duplicateCampaign', event: 'campaign.created', makes: 'copy' },
  { id: 'deleteCampaign', event: 'campaign.deleted' },
  {
    id: 'bulkUpdateCampaigns',
    event: 'campaign.deleted',
    body: ({ ids }) => ({ ids: [ids['copy']], delete: true }),
  },
];
