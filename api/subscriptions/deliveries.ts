import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { transact } from '../../db/database.ts';
import {
  deliveryStatuses,
  findDelivery,
  listDeliveries,
  retryDelivery,
} from '../../db/subscriptions/deliveries.ts';
import { findSecrets } from '../../db/projects/secrets.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { found, notFound, Problem } from '../../domain/errors.ts';
import { isUuid } from '../../domain/ids.ts';
import { EventName } from '../../domain/workflow/steps/schemas.ts';
import { eventOfDelivery, requestBody } from '../../domain/subscription/request.ts';
import { sampleEvent } from '../../domain/subscription/sample.ts';
import { sendSigned } from '../../providers/signed-request.ts';
import { endpoint } from '../http/endpoint.ts';
import { exampleOf } from '../http/record.ts';
import { cursorQuery, named, presentCursorList, Uuid, ById } from '../http/schemas.ts';
import { Delivery, presentDelivery, requireSubscription } from './record.ts';

const deliveryExample = exampleOf(Delivery);

const newestEvent: CursorForm = { order: 'deliveries', value: 'instant' };

const DeliveryById = ById.extend({ deliveryId: z.string() });

/**
 * Returns the id of a delivery's event, which is a part of the delivery id.
 * @throws Problem EVENT_DELIVERY_NOT_FOUND for a text that is no delivery id
 */
function eventOf({ id, deliveryId }: { id: string; deliveryId: string }): string {
  const eventId = eventOfDelivery(deliveryId, id);
  if (eventId === null || !isUuid(eventId)) throw notFound('EVENT_DELIVERY', deliveryId);
  return eventId;
}

const getDeliveries = endpoint({
  id: 'listEventDeliveries',
  method: 'GET',
  path: '/event-subscriptions/{id}/deliveries',
  summary: 'List the deliveries of an event subscription, newest event first',
  description:
    'A cursor list without `total`. All filters must hold; `eventName` is the exact name. Deliveries ' +
    'are kept for 30 days after they ended.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  query: cursorQuery(newestEvent).extend({
    status: z.enum(deliveryStatuses).optional(),
    eventName: EventName.optional(),
    eventId: Uuid.optional(),
  }),
  response: named('EventDeliveryList', {
    data: z.array(Delivery),
    cursor: z.string().optional(),
    hasMore: z.boolean(),
  }),
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  example: { response: { data: [deliveryExample], hasMore: false } },
  async handle({ db, caller, params: { id }, query: { cursor, limit, ...search } }) {
    const subscription = await requireSubscription(db, caller.projectId, id);
    const page = { after: cursor, limit: limit + 1 };
    const rows = await listDeliveries(db, subscription, search, page);
    const { total: _, ...list } = presentCursorList(rows, {
      form: newestEvent,
      limit,
      total: 0,
      position: (row) => ({ value: row.recorded_instant, id: row.event_id }),
      present: (row) => presentDelivery(row, caller.project),
    });
    return list;
  },
});

const getDelivery = endpoint({
  id: 'getEventDelivery',
  method: 'GET',
  path: '/event-subscriptions/{id}/deliveries/{deliveryId}',
  summary: 'Get one delivery with its last attempts',
  description:
    'If `nextAttemptAt` is in the past, the delivery waits for its turn, or for the end of a pause.',
  access: 'secret',
  role: 'ADMIN',
  params: DeliveryById,
  response: Delivery,
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND', 'EVENT_DELIVERY_NOT_FOUND'],
  example: { response: deliveryExample },
  async handle({ db, caller, params }) {
    const subscription = await requireSubscription(db, caller.projectId, params.id);
    const row = await findDelivery(db, subscription, eventOf(params));
    return presentDelivery(found('EVENT_DELIVERY', params.deliveryId, row), caller.project);
  },
});

const retryOne = endpoint({
  id: 'retryEventDelivery',
  method: 'POST',
  path: '/event-subscriptions/{id}/deliveries/{deliveryId}/retry',
  summary: 'Attempt a delivery now, in any state',
  description:
    'Works also while the subscription is paused, or its receiver has asked for a pause. A ' +
    'finished delivery becomes pending again, with a new schedule. ' +
    'EVENT_DELIVERY_NOT_RETRYABLE: its event was deleted; `details.reason` says why.',
  access: 'secret',
  role: 'ADMIN',
  params: DeliveryById,
  response: Delivery,
  problems: [
    'EVENT_SUBSCRIPTION_NOT_FOUND',
    'EVENT_DELIVERY_NOT_FOUND',
    'EVENT_SUBSCRIPTION_NOT_ENABLED',
    'EVENT_DELIVERY_NOT_RETRYABLE',
  ],
  example: { response: deliveryExample },
  async handle({ db, caller: { projectId, project }, params, note }) {
    const subscription = await requireSubscription(db, projectId, params.id);
    const result = await transact(db, async (tx) => {
      const retried = await retryDelivery(tx, subscription, eventOf(params));
      if (typeof retried === 'string' || 'gone' in retried) return retried;
      const details = { subscriptionId: params.id, deliveryId: params.deliveryId };
      const target = { type: 'event_subscription', id: params.id };
      await note({ event: 'event_subscription.retried', projectId, target, details }, tx);
      return retried;
    });
    if (result === 'missing') throw notFound('EVENT_DELIVERY', params.deliveryId);
    if (result === 'disabled') {
      const details = { disabledReason: subscription.disabled_reason };
      throw new Problem('EVENT_SUBSCRIPTION_NOT_ENABLED', { details });
    }
    if ('gone' in result) {
      throw new Problem('EVENT_DELIVERY_NOT_RETRYABLE', { details: { reason: result.gone } });
    }
    return presentDelivery(result, project);
  },
});

const testSubscription = endpoint({
  id: 'testEventSubscription',
  method: 'POST',
  path: '/event-subscriptions/{id}/test',
  summary: 'Send a test event to the URL of a subscription, once',
  description:
    'The body has `"test": true`. It is sent in every state of the subscription, and is ' +
    'neither stored nor counted. `error` is `timeout`, `unreachable`, `address_refused` or ' +
    '`secret_refused`: a secret of the headers is bound to other hosts.',
  access: 'secret',
  role: 'ADMIN',
  params: ById,
  body: z.object({
    eventName: EventName.default('test'),
  }),
  response: z.object({
    statusCode: z.int().nullable(),
    ms: z.int(),
    error: z.string().nullable(),
  }),
  problems: ['EVENT_SUBSCRIPTION_NOT_FOUND'],
  example: { body: {}, response: { statusCode: 200, ms: 41, error: null } },
  async handle({ db, caller, params: { id }, body: { eventName }, cipher, webhooks }) {
    const row = await requireSubscription(db, caller.projectId, id);
    const secrets =
      row.secret_names.length === 0 ? [] : await findSecrets(db, row.project_id, row.secret_names);
    const until = row.previous_secret_expires_at;
    const isRotating = until !== null && until > new Date();
    const target = { ...row, previousSecret: isRotating ? row.previous_secret : null, secrets };
    const startedAt = Date.now();
    const made = { eventId: randomUUID(), contactId: randomUUID(), emailId: randomUUID() };
    const { event, contact } = sampleEvent(eventName, {
      ...made,
      projectId: caller.project.publicId,
      now: new Date(startedAt),
    });
    const request = { id: `test_${randomUUID()}`, body: requestBody(event, contact, true) };
    const { statusCode, error } = await sendSigned({ webhooks, cipher }, target, request);
    return { statusCode, ms: Date.now() - startedAt, error };
  },
});

export const deliveryEndpoints = [getDeliveries, getDelivery, retryOne, testSubscription];
