import { writeMail } from '../mail-tables.ts';
import { insertTestEmail } from '../projects/mails.ts';
import type { Play } from './play.ts';

const failed = {
  status: 'FAILED',
  error: '554 no',
  refusal: 'provider_refused',
  message_id: null,
  sent_at: null,
};

const draft = (name: string) => ({
  name,
  subject: 'Hello',
  body: '<p>Hello</p>',
  from: 'team@changes.test',
  audienceType: 'ALL',
});

/** Changes of campaigns, in an order in which they are possible. */
export const campaignChanges: Play[] = [
  {
    id: 'createCampaign',
    event: 'campaign.created',
    body: {
      ...draft('Spring'),
      experiment: {
        arms: [{ id: 'a' }, { id: 'b' }],
        testPercent: 50,
        decideAfterSeconds: 60,
        metric: 'human_click',
      },
    },
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
  {
    id: 'decideExperiment',
    event: 'campaign.experiment_decided',
    body: { arm: 'b' },
    async prepare({ api: { db }, ids }) {
      await db
        .updateTable('campaign')
        .set({ audience_fixed: true })
        .where('id', '=', ids['campaign']!)
        .execute();
    },
  },
  {
    id: 'retryFailedCampaign',
    event: 'campaign.retried',
    async prepare({ api: { db }, project, ids }) {
      const campaignId = ids['campaign']!;
      const contact = await db
        .selectFrom('contact')
        .select('id')
        .where('project_id', '=', project.id)
        .executeTakeFirstOrThrow();
      await insertTestEmail(
        db,
        { projectId: project.id, contactId: contact.id, campaignId },
        failed,
      );
      await db
        .updateTable('campaign')
        .set({ status: 'SENT' })
        .where('id', '=', campaignId)
        .execute();
    },
  },
  { id: 'cancelCampaign', event: 'campaign.cancelled' },
  { id: 'archiveCampaign', event: 'campaign.archived' },
  { id: 'unarchiveCampaign', event: 'campaign.unarchived' },
  {
    id: 'followUpCampaign',
    event: 'campaign.created',
    body: { outcome: 'not_opened' },
    makes: 'followUp',
    async prepare({ api: { db }, ids }) {
      await writeMail(db, (tx) =>
        tx
          .updateTable('email')
          .set({ status: 'SENT', sent_at: new Date(), due_at: null })
          .where('campaign_id', '=', ids['campaign']!)
          .execute(),
      );
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
