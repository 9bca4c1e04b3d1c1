import { randomBytes } from 'node:crypto';
import { deliveryIdOf } from '../../../domain/subscription/request.ts';
import { formWith } from '../projects/upload.ts';
import type { Play } from './play.ts';

const template = { name: 'Hi', subject: 'Hi', body: '<p>Hi</p>', type: 'TRANSACTIONAL' };
const server = {
  name: 'Postmark EU',
  kind: 'smtp',
  host: 'smtp.postmarkapp.com',
  user: '3f0c',
  password: 'the-password-of-the-server',
  feedback: 'postmark',
};

/** Changes of settings, in an order in which they are possible. */
export const settingChanges: Play[] = [
  {
    id: 'createTopic',
    event: 'topic.created',
    body: { key: 'news', name: 'News', default: 'subscribed' },
    makes: 'topic',
  },
  { id: 'updateTopic', event: 'topic.changed', body: { name: 'All news' } },
  { id: 'deleteTopic', event: 'topic.deleted' },
  {
    id: 'createSegment',
    event: 'segment.created',
    body: { name: 'Team', type: 'STATIC' },
    makes: 'segment',
  },
  { id: 'updateSegment', event: 'segment.changed', body: { name: 'All' } },
  { id: 'deleteSegment', event: 'segment.deleted' },
  { id: 'createTemplate', event: 'template.created', body: template, makes: 'template' },
  { id: 'updateTemplate', event: 'template.changed', body: { subject: 'Hello' } },
  { id: 'duplicateTemplate', event: 'template.created', makes: 'copy' },
  { id: 'deleteTemplate', event: 'template.deleted' },
  {
    id: 'bulkUpdateTemplates',
    event: 'template.deleted',
    body: ({ ids }) => ({ ids: [ids['copy']], delete: true }),
  },
  {
    id: 'applyPlan',
    event: 'files.applied',
    prepare: async ({ api, project, ids }) => {
      const files = { 'topics/planned.yaml': 'name: Planned\ndefault: subscribed\n' };
      const { secretKey: key } = project;
      const { body } = await api.request('POST', '/plan', { key, body: { files } });
      ids['plan'] = body.id;
    },
    body: ({ ids }) => ({ planId: ids['plan'] }),
    wrong: { body: { planId: '7c000000-0000-4000-8000-000000000001' } },
  },
  {
    id: 'createRamp',
    event: 'ramp.created',
    body: { domain: 'news.test', startPerDay: 200, days: 14 },
    makes: 'ramp',
  },
  { id: 'pauseRamp', event: 'ramp.paused' },
  { id: 'resumeRamp', event: 'ramp.resumed' },
  { id: 'deleteRamp', event: 'ramp.deleted' },
  { id: 'createProvider', event: 'provider.created', body: server, makes: 'provider' },
  { id: 'updateProvider', event: 'provider.changed', body: { ratePerSecond: 5 } },
  { id: 'rotateProviderToken', event: 'provider.token_rotated' },
  { id: 'deleteProvider', event: 'provider.deleted' },
  {
    id: 'setRouting',
    event: 'routing.changed',
    body: { routes: [{ match: {}, providers: [{ id: 'default', weight: 1 }], onDown: 'hold' }] },
  },
  {
    id: 'setSendPolicy',
    event: 'send_policy.changed',
    body: { timeZone: 'Europe/Berlin' },
    wrong: { body: { timeZone: 'Nowhere' } },
  },
  {
    id: 'setLinkPolicy',
    event: 'link_policy.changed',
    body: { utmHosts: ['shop.example.com'] },
    wrong: { body: { utmHosts: 5 } },
  },
  {
    id: 'setHoldout',
    event: 'holdout.changed',
    body: { percent: 5 },
    wrong: { body: { percent: 21 } },
  },
  {
    id: 'setConsentPolicy',
    event: 'consent_policy.changed',
    body: { expireAfter: 700_000 },
    wrong: { body: { expireAfter: -1 } },
  },
  {
    id: 'addSuppressions',
    event: 'suppression.added',
    body: { emails: ['ada@people.test'] },
  },
  {
    id: 'removeSuppression',
    event: 'suppression.removed',
    params: { email: 'email' },
    prepare: ({ ids }) => (ids['email'] = 'ada@people.test'),
  },
  {
    id: 'setSecret',
    event: 'secret.set',
    params: { name: 'secretName' },
    body: () => ({ value: randomBytes(16).toString('hex') }),
    prepare: ({ ids }) => (ids['secretName'] = 'SHOP_TOKEN'),
  },
  { id: 'deleteSecret', event: 'secret.deleted', params: { name: 'secretName' } },
  {
    id: 'createEventSubscription',
    event: 'event_subscription.created',
    body: { url: 'https://shop.example/events', events: ['paid'] },
    makes: 'event_subscription',
  },
  {
    id: 'updateEventSubscription',
    event: 'event_subscription.changed',
    body: { events: ['paid', 'refunded'] },
  },
  { id: 'rotateEventSubscriptionSecret', event: 'event_subscription.secret_rotated' },
  {
    id: 'replayEvents',
    event: 'event_subscription.replayed',
    body: () => ({ from: new Date(Date.now() - 3_600_000).toISOString() }),
  },
  {
    id: 'retryEventDelivery',
    event: 'event_subscription.retried',
    params: { id: 'event_subscription', deliveryId: 'delivery' },
    async prepare({ api, project, ids }) {
      const body = { event: 'paid', email: 'ada@people.test' };
      const tracked = await api.request('POST', '/v1/track', { key: project.secretKey, body });
      const [event, subscription] = [tracked.body.data.event, ids['event_subscription']!];
      const now = new Date();
      await api.db
        .insertInto('event_delivery')
        .values({
          subscription_id: subscription,
          event_id: event,
          project_id: project.id,
          event_name: 'paid',
          created_at: now,
          recorded_at: now,
          due_at: now,
          epoch: 0,
        })
        .execute();
      ids['delivery'] = deliveryIdOf(event, subscription);
    },
  },
  { id: 'deleteEventSubscription', event: 'event_subscription.deleted' },
  {
    id: 'createApiKey',
    event: 'api_key.created',
    body: { name: 'Shop backend', scopes: ['contacts:read'] },
    makes: 'api_key',
  },
  { id: 'updateApiKey', event: 'api_key.changed', body: { name: 'Shop' } },
  { id: 'rotateApiKey', event: 'api_key.rotated', body: {}, makes: 'api_key' },
  { id: 'revokeApiKey', event: 'api_key.revoked' },
  {
    id: 'deleteUpload',
    event: 'upload.deleted',
    params: { key: 'file' },
    async prepare({ api, project, ids }) {
      const bytes = Buffer.alloc(100);
      bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
      const type = 'image/png';
      const form = await formWith(bytes, { field: 'image', filename: 'a.png', type });
      const { body } = await api.request('POST', '/uploads/image', {
        key: project.secretKey,
        ...form,
      });
      ids['file'] = body.key;
    },
  },
];

/** Changes of sender domains that this server signs. */
export const domainChanges: Play[] = [
  {
    id: 'createDomain',
    event: 'domain.added',
    body: ({ project }) => ({ projectId: project.id, domain: 'changes.dev', signing: 'own' }),
    makes: 'domain',
  },
  { id: 'updateDomain', event: 'domain.changed', body: { ed25519: true } },
  { id: 'rotateDomainKey', event: 'domain.changed' },
  { id: 'deleteDomain', event: 'domain.removed' },
];
