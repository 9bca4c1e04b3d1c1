import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { transact } from '../../db/database.ts';
import { countDeliveries } from '../../db/subscriptions/deliveries.ts';
import { deleteSubscription } from '../../db/transactions/subscriptions/change-subscription.ts';
import {
  listSubscriptions,
  rotateSecret,
  type SubscriptionRow,
} from '../../db/subscriptions/subscriptions.ts';
import { actorOf } from '../access/caller.ts';
import { changesBetween } from '../access/changes.ts';
import { notFound } from '../../domain/errors.ts';
import { secretOf } from '../../providers/signed-request.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time, ById } from '../http/schemas.ts';
import { storeNewSubscription, storeSubscription } from './changes.ts';
import { deliveryEndpoints } from './deliveries.ts';
import { NewSubscription, SubscriptionPatch } from './input.ts';
import { checkSubscription, sealHeaders } from './settings.ts';
import { refuseForeignHeaders } from './foreign-secrets.ts';
import { replayEndpoints } from './replays.ts';
import {
  presentSubscription,
  presentSubscriptions,
  requireSubscription,
  Subscription,
  subscriptionExample,
} from './record.ts';

const secretExample = 'whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IDMyYiE=';

const getSubscriptions = endpoint({
  id: 'listEventSubscriptions',
  method: 'GET',
  path: '/event-subscriptions',
  summary: 'List the event subscriptions of the project, newest first',
  description: 'Secrets and values of headers are never shown.',
  access: 'secret',
  role: 'ADMIN',
  response: z.array(Subscription),
  example: { response: [subscriptionExample] },
  async handle({ db, caller }) {
    return presentSubscriptions(db, await listSubscriptions(db, caller.projectId), caller.project);
  },
});

const createSubscription = endpoint({
  id: 'createEventSubscription',
  method: 'POST',
  path: '/event-subscriptions',
  summary: 'Create an event subscription: events are sent to a URL, signed as Standard Webhooks',
  description:
    'It sends every event that an item of `events` matches and whose recording begins after ' +
    'the response. Only this response and rotate-secret return the `secret`. ' +
    'EVENT_SUBSCRIPTION_LIMIT: a project has at most 20. With `from`, events recorded since ' +
    'then are sent first.',
  access: 'secret',
  role: 'ADMIN',
  status: 201,
  showsSecret: true,
  body: NewSubscription,
  response: named('NewEventSubscription', { ...Subscription.shape, secret: z.string() }),
  problems: ['EVENT_SUBSCRIPTION_LIMIT'],
  example: {
    body: { url: subscriptionExample.url, events: subscriptionExample.events },
    response: { ...subscriptionExample, secret: secretExample },
  },
  check: (call) => checkSubscription(call, call.body),
  async checkBeside({ db, caller: { projectId }, body: { url, headers }, cipher }) {
    if (url === undefined || !headers) return;
    const sealed = sealHeaders(cipher, headers);
    await refuseForeignHeaders(db, cipher, { project_id: projectId, url, ...sealed });
  },
  async handle({ db, caller, body, cipher, keyUse, note }) {
    const { projectId, project } = caller;
    return transact(db, async (tx) => {
      const writing = { tx, projectId, cipher };
      const made = await storeNewSubscription(writing, body, { causedBy: actorOf(caller) });
      const { secret, row: inserted } = made;
      const details = { subscriptionId: inserted.id, host: new URL(inserted.url).host };
      const target = { type: 'event_subscription', id: inserted.id };
      await note({ event: 'event_subscription.created', projectId, target, details }, tx);
      const shown = { ...(await presentSubscription(tx, inserted, project)), secret };
      await keyUse?.completeIn(tx, shown, 201);
      return shown;
    });
  },
});

const Numbered = named('CountedEventSubscription', {
  ...Subscription.shape,
  lag: z.object({
    pending: z.int(),
    oldestPendingAt: Time.nullable().describe('Since when the oldest pending one waits'),
  }),
  last24Hours: z.object({
    requests: z.int(),
    delivered: z.int(),
    failed: z.int(),
    skipped: z.int(),
  }),
});

const getSubscription = endpoint({
  id: 'getEventSubscription',
  method: 'GET',
  path: '/event-subscriptions/{id}',
  summary: 'Get one event subscription with its backlog and the results of the last 24 hours',
  description: '`lag` and `last24Hours` are at most 5 seconds old.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  response: Numbered,
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  example: {
    response: {
      ...subscriptionExample,
      lag: { pending: 1, oldestPendingAt: '2026-11-21T08:30:00.000Z' },
      last24Hours: { requests: 813, delivered: 811, failed: 0, skipped: 1 },
    },
  },
  async handle({ db, recent, caller, params: { id } }) {
    const row = await requireSubscription(db, caller.projectId, id);
    const { lag, last24Hours } = await recent.get(`subscription ${row.project_id} ${id}`, () =>
      countDeliveries(db, row),
    );
    const shown = { ...lag, oldestPendingAt: time(lag.oldestPendingAt) };
    return { ...(await presentSubscription(db, row, caller.project)), lag: shown, last24Hours };
  },
});

const patchSubscription = endpoint({
  id: 'updateEventSubscription',
  method: 'PATCH',
  path: '/event-subscriptions/{id}',
  summary: 'Change, pause, disable or enable an event subscription',
  description:
    'Fields that are left out keep their value. A new `events` applies to events recorded ' +
    'after the response; all other fields to every later request. `headers` replaces all ' +
    'headers. A new `batch` splits batches that wait for a retry. While the subscription is ' +
    'paused, events wait. While it is disabled, no events are kept for it, and pending ones ' +
    'are skipped.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  body: SubscriptionPatch,
  response: Subscription,
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  example: { body: { paused: true }, response: { ...subscriptionExample, paused: true } },
  check: (call) => checkSubscription(call, call.body),
  async checkBeside({ db, caller: { projectId }, params: { id }, body, cipher }, wrong) {
    const { url, headers } = body;
    if (wrong.has('url') || wrong.has('headers')) return;
    const stored = await requireSubscription(db, projectId, id);
    const sealed = headers === undefined ? {} : sealHeaders(cipher, headers);
    const changed = { ...stored, ...sealed, ...(url !== undefined && { url }) };
    await refuseForeignHeaders(db, cipher, changed);
  },
  async handle({ db, caller: { projectId, project }, params: { id }, body, cipher, note }) {
    const row = await transact(db, async (tx) => {
      const { before, after: stored } = await storeSubscription(
        { tx, projectId, cipher },
        id,
        body,
      );
      const fields = Object.keys(body).join(', ');
      const details = { subscriptionId: id, host: new URL(stored.url).host, fields };
      const target = { type: 'event_subscription', id };
      const changes = changesBetween(comparable(before), comparable(stored), {
        fields: Object.keys(body),
        secret: ['headers'],
      });
      await note({ event: 'event_subscription.changed', projectId, target, changes, details }, tx);
      return stored;
    });
    return presentSubscription(db, row, project);
  },
});

/**
 * Returns the fields of a subscription that PATCH can change. Encrypting the same headers again
 * gives another value, so headers are compared separately.
 */
function comparable({ batch_max: max, headers, ...row }: SubscriptionRow) {
  return { ...row, batch: max && { max }, headers: headers?.toString('base64') };
}

const removeSubscription = endpoint({
  id: 'deleteEventSubscription',
  method: 'DELETE',
  path: '/event-subscriptions/{id}',
  summary: 'Delete an event subscription with its deliveries and secrets',
  description: 'No request starts after the response.',
  access: 'secret',
  role: 'ADMIN',
  status: 204,
  params: ById,
  response: z.void(),
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  async handle({ db, caller: { projectId }, params: { id }, note }) {
    await transact(db, async (tx) => {
      if (!(await deleteSubscription(tx, projectId, id))) {
        throw notFound('EVENT_SUBSCRIPTION', id);
      }
      const details = { subscriptionId: id };
      const target = { type: 'event_subscription', id };
      await note({ event: 'event_subscription.deleted', projectId, target, details }, tx);
    });
  },
});

const rotateSubscriptionSecret = endpoint({
  id: 'rotateEventSubscriptionSecret',
  method: 'POST',
  path: '/event-subscriptions/{id}/rotate-secret',
  summary: 'Replace the secret of an event subscription',
  description: 'The previous secret also signs for 24 hours; another rotation ends it at once.',
  access: 'secret',
  role: 'ADMIN',
  showsSecret: true,
  params: ById,
  response: z.object({ secret: z.string() }),
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  example: { response: { secret: secretExample } },
  async handle({ db, caller: { projectId }, params: { id }, cipher, keyUse, note }) {
    const secret = secretOf(randomBytes(32));
    await transact(db, async (tx) => {
      const isRotated = await rotateSecret(tx, projectId, id, cipher.encrypt(secret));
      if (!isRotated) throw notFound('EVENT_SUBSCRIPTION', id);
      const details = { subscriptionId: id };
      const target = { type: 'event_subscription', id };
      await note({ event: 'event_subscription.secret_rotated', projectId, target, details }, tx);
      await keyUse?.completeIn(tx, { secret });
    });
    return { secret };
  },
});

export const subscriptionEndpoints = [
  getSubscriptions,
  createSubscription,
  getSubscription,
  patchSubscription,
  removeSubscription,
  rotateSubscriptionSecret,
  ...deliveryEndpoints,
  ...replayEndpoints,
];
