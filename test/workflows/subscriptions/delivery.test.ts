import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  change,
  deliveries,
  received,
  subscribe,
  track,
  untilDeliveries,
} from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
});
const receiver = await useReceiver();

it('sends the event, signed as Standard Webhooks, and nothing else', async () => {
  const shop = await subscribe(engine, receiver, ['order_placed'], {
    headers: { Authorization: 'Bearer x', 'x-b': '1' },
  });
  expect(Buffer.from(shop.secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
  await track(engine, 'other');
  const eventId = await track(engine, 'order_placed', 'ada@people.test', { total: 42 });
  const [request] = await received(shop, 1);
  const { body: listed } = await engine.call('GET', '/events?eventName=order_placed');
  const record = listed.events.find(({ id }: { id: string }) => id === eventId);
  const contact = { id: record.contactId, email: 'ada@people.test' };
  expect(request?.event).toEqual({
    type: 'order_placed',
    timestamp: record.createdAt,
    data: { ...record, contact },
  });
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer x',
    'content-type': 'application/json',
    'user-agent': 'Everpost/1',
    'webhook-id': `${eventId}_${shop.id}`,
  });
  const { headers, body } = request!;
  expect(new Webhook(shop.secret).verify(body, headers)).toEqual(request?.event);
  const whole = Buffer.from(shop.secret).toString('base64');
  expect(() => new Webhook(whole).verify(body, headers)).toThrow();
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  expect(shop.requests()).toHaveLength(1);
});

it('knows names, beginnings and all; each event once', async () => {
  const orders = await subscribe(engine, receiver, ['order.*']);
  const all = await subscribe(engine, receiver, ['*', 'order.*']);
  for (const name of ['order', 'orders.x', 'Order.paid', 'order.paid', 'order.a.b']) {
    await track(engine, name);
  }
  const to = 'cleo@people.test';
  await engine.call('POST', '/v1/send', {
    to,
    from: `a@${engine.domain}`,
    subject: 'Hi',
    body: '<p>Hi</p>',
  });
  const requests = await received(all, 7);
  const names = requests.map(({ event }) => event.type).toSorted();
  expect(names).toEqual(
    [
      'order',
      'orders.x',
      'Order.paid',
      'order.paid',
      'order.a.b',
      'email.sent',
      'email.delivery',
    ].toSorted(),
  );
  expect(new Set(requests.map(({ event }) => event.data.id)).size).toBe(7);
  await received(orders, 2);
  expect(orders.requests().map(({ event }) => event.type)).toEqual(['order.paid', 'order.a.b']);
  await engine.call('DELETE', `/event-subscriptions/${all.id}`);
});

it('tries again under one id, and never follows', async () => {
  const shop = await subscribe(engine, receiver, ['retried']);
  const other = '/never-called';
  receiver.answer(other, { status: 200 });
  receiver.answer(
    shop.path,
    { status: 500, body: 'upstream down' },
    { status: 302, headers: { location: `${receiver.url}${other}` } },
    { status: 200, until: new Promise(() => {}) },
    { status: 200 },
  );
  await track(engine, 'retried');
  const [delivery] = await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  expect(delivery?.attempts).toMatchObject([
    { statusCode: 500, error: null },
    { statusCode: 302, error: null },
    { statusCode: null, error: 'timeout' },
    { statusCode: 200, error: null },
  ]);
  expect(delivery).toMatchObject({ response: null, reason: null, nextAttemptAt: null });
  const requests = shop.requests();
  expect(requests).toHaveLength(4);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const stamps = requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  expect(stamps).toEqual(stamps.toSorted((a, b) => a - b));
  expect(new Set(stamps).size).toBeGreaterThan(2);
  expect(receiver.requests(other)).toEqual([]);
});

it('keeps the last answer when later attempts get none', async () => {
  const [silent, empty] = [
    await subscribe(engine, receiver, ['silent']),
    await subscribe(engine, receiver, ['silent']),
  ];
  const said = { status: 500, body: 'upstream down' };
  receiver.answer(silent.path, said, { status: 200, until: new Promise(() => {}) });
  receiver.answer(empty.path, said, { status: 502, body: '' });
  await track(engine, 'silent');
  const endOf = async ({ id }: { id: string }) =>
    (await untilDeliveries(engine, id, ([one]) => one?.status === 'failed'))[0];
  const [kept, replaced] = [await endOf(silent), await endOf(empty)];
  expect(kept?.attempts.map(({ error }) => error)).toEqual([null, 'timeout', 'timeout', 'timeout']);
  expect(kept?.response).toBe('upstream down');
  expect(replaced?.response).toBeNull();
});

it('gives up after the last attempt, and keeps what the receiver said, without its headers', async () => {
  const shop = await subscribe(engine, receiver, ['lost'], {
    headers: { 'X-Token': 'very-secret' },
  });
  receiver.answer(shop.path, { status: 500, body: `no very-secret ${'x'.repeat(3_000)}` });
  await track(engine, 'lost');
  const [delivery] = await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'failed');
  expect(delivery?.attempts).toHaveLength(4);
  expect(delivery?.response?.startsWith('no ••• xxx')).toBe(true);
  expect(Buffer.byteLength(delivery?.response ?? '')).toBeLessThanOrEqual(1_024);
  receiver.answer(shop.path, { status: 200 });
  const path = `/event-subscriptions/${shop.id}/deliveries/${delivery?.id}`;
  const again = await engine.call('POST', `${path}/retry`);
  expect([again.status, again.body.status]).toEqual([200, 'pending']);
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  expect((await engine.call('POST', `${path}/retry`)).body.status).toBe('pending');
  await received(shop, 6);
  const all = await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  expect(all[0]?.attempts).toHaveLength(6);
});

it('waits as long as the receiver asks for, with all of them', async () => {
  const shop = await subscribe(engine, receiver, ['held']);
  receiver.answer(shop.path, { status: 429, headers: { 'retry-after': '3' } }, { status: 200 });
  await track(engine, 'held', 'ada@people.test');
  const [first] = await received(shop, 1);
  await untilDeliveries(engine, shop.id, ([one]) => one?.attempts.length === 1);
  await track(engine, 'held', 'bo@people.test');
  const requests = await received(shop, 3);
  expect(requests[1]!.at - first!.at).toBeGreaterThanOrEqual(2_900);
});

it(
  'keeps the order of each contact, one request at a time, at most ten in all',
  {
    timeout: 120_000,
  },
  async () => {
    const shop = await subscribe(engine, receiver, ['ordered']);
    let under = 0;
    let most = 0;
    const busy = new Set<string>();
    let together = 0;
    receiver.watch(shop.path, async (body) => {
      const email = (JSON.parse(body) as { data: { contact: { email: string } } }).data.contact
        .email;
      if (busy.has(email)) together += 1;
      busy.add(email);
      under += 1;
      most = Math.max(most, under);
      await sleep(Math.random() * 50);
      under -= 1;
      busy.delete(email);
    });
    const contacts = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@ordered.test`);
    await Promise.all(
      contacts.map(async (email) => {
        for (let number = 0; number < 40; number += 1) {
          await track(engine, 'ordered', email, { number });
        }
      }),
    );
    const requests = await received(shop, 200, 100_000);
    for (const email of contacts) {
      const numbers = requests
        .filter(({ event }) => event.data.contact?.email === email)
        .map(({ event }) => (event.data.data as { number: number }).number);
      expect(numbers).toEqual(Array.from({ length: 40 }, (_, number) => number));
    }
    expect(together).toBe(0);
    expect(most).toBeLessThanOrEqual(10);
  },
);

it('passes one that waits for its retry', async () => {
  const shop = await subscribe(engine, receiver, ['passed']);
  receiver.answer(shop.path, { status: 500, headers: { 'retry-after': '6' } }, { status: 200 });
  for (const number of [1, 2, 3]) await track(engine, 'passed', 'a@passed.test', { number });
  const requests = await received(shop, 4);
  expect(requests.map(({ event }) => (event.data.data as { number: number }).number)).toEqual([
    1, 2, 3, 1,
  ]);
});

it('keeps events while it is paused, with the items of their time', async () => {
  const shop = await subscribe(engine, receiver, ['paused']);
  await change(engine, shop.id, { paused: true });
  for (const number of [1, 2, 3]) await track(engine, 'paused', 'a@paused.test', { number });
  await untilDeliveries(engine, shop.id, (all) => all.length === 3);
  const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
  expect(body.lag).toMatchObject({ pending: 3 });
  expect(await deliveries(engine, shop.id, '?status=pending')).toHaveLength(3);
  await change(engine, shop.id, { events: ['another'] });
  await track(engine, 'paused', 'a@paused.test', { number: 4 });
  await track(engine, 'another', 'a@paused.test', { number: 5 });
  expect(shop.requests()).toEqual([]);
  await change(engine, shop.id, { paused: false });
  const requests = await received(shop, 4);
  const numbers = requests.map(({ event }) => (event.data.data as { number: number }).number);
  expect(numbers).toEqual([1, 2, 3, 5]);
});

it('sends one that is asked for while it is paused', async () => {
  const shop = await subscribe(engine, receiver, ['asked']);
  await change(engine, shop.id, { paused: true });
  await track(engine, 'asked', 'a@asked.test');
  await track(engine, 'asked', 'b@asked.test');
  const all = await untilDeliveries(engine, shop.id, (found) => found.length === 2);
  const path = `/event-subscriptions/${shop.id}/deliveries/${all[0]?.id}`;
  expect((await engine.call('POST', `${path}/retry`)).status).toBe(200);
  const [request] = await received(shop, 1);
  expect(request?.headers['webhook-id']).toBe(all[0]?.id);
  await untilDeliveries(engine, shop.id, (found) => found[0]?.status === 'delivered');
  expect(shop.requests()).toHaveLength(1);
});

it('skips what waits when it is disabled, also if it is enabled at once', async () => {
  const shop = await subscribe(engine, receiver, ['disabled']);
  await change(engine, shop.id, { paused: true });
  await track(engine, 'disabled');
  await track(engine, 'disabled');
  await untilDeliveries(engine, shop.id, (all) => all.length === 2);
  const disabled = await change(engine, shop.id, { enabled: false });
  expect(disabled).toMatchObject({ enabled: false, disabledReason: 'requested', from: null });
  await track(engine, 'disabled');
  const skipped = await untilDeliveries(engine, shop.id, (all) =>
    all.every(({ status }) => status === 'skipped'),
  );
  expect(skipped.map(({ reason }) => reason)).toEqual(['disabled', 'disabled']);
  const path = `/event-subscriptions/${shop.id}/deliveries/${skipped[0]?.id}/retry`;
  const refused = await engine.call('POST', path);
  expect([refused.status, refused.body.error.code]).toEqual([
    400,
    'EVENT_SUBSCRIPTION_NOT_ENABLED',
  ]);
  await change(engine, shop.id, { enabled: true, paused: false });
  const eventId = await track(engine, 'disabled');
  const [request] = await received(shop, 1);
  expect(request?.event.data.id).toBe(eventId);
  await change(engine, shop.id, { paused: true });
  await track(engine, 'disabled');
  await change(engine, shop.id, { enabled: false });
  await change(engine, shop.id, { enabled: true });
  const all = await untilDeliveries(engine, shop.id, ([newest]) => newest?.status === 'skipped');
  expect(all.map(({ status }) => status)).toEqual(['skipped', 'delivered', 'skipped', 'skipped']);
  expect(shop.requests()).toHaveLength(1);
});

it('signs with both secrets for a day after a change, and ends the older one at the next', async () => {
  const shop = await subscribe(engine, receiver, ['rotated']);
  const rotate = async () => {
    const { body } = await engine.call('POST', `/event-subscriptions/${shop.id}/rotate-secret`);
    engine.api.log.mustNotTell(body.secret);
    return body.secret as string;
  };
  const second = await rotate();
  await track(engine, 'rotated');
  const [request] = await received(shop, 1);
  const [newer, older] = request!.headers['webhook-signature']!.split(' ');
  const isRight = (secret: string, signature: string, of = request!) => {
    const headers = { ...of.headers, 'webhook-signature': signature };
    try {
      return new Webhook(secret).verify(of.body, headers) !== null;
    } catch {
      return false;
    }
  };
  expect([isRight(second, newer!), isRight(shop.secret, older!)]).toEqual([true, true]);
  expect(isRight(shop.secret, newer!)).toBe(false);
  const { body } = await engine.call('GET', `/event-subscriptions/${shop.id}`);
  expect(Date.parse(body.previousSecretExpiresAt) - Date.now()).toBeGreaterThan(23 * 3_600_000);
  const third = await rotate();
  await track(engine, 'rotated');
  const [, next] = await received(shop, 2);
  const signatures = next!.headers['webhook-signature']!.split(' ');
  expect(signatures.map((signature) => isRight(shop.secret, signature, next))).toEqual([
    false,
    false,
  ]);
  expect(isRight(third, signatures[0]!, next)).toBe(true);
});

it('has a run for as long as it exists', async () => {
  const shop = await subscribe(engine, receiver, ['running']);
  const handle = engine.temporal.client.workflow.getHandle(`subscription-${shop.id}`);
  const statusOf = () =>
    handle.describe().then(
      ({ status }) => status.name,
      () => null,
    );
  await waitFor('the run', async () => (await statusOf()) === 'RUNNING');
  await track(engine, 'running');
  await received(shop, 1);
  await untilDeliveries(engine, shop.id, ([one]) => one?.status === 'delivered');
  const history = await handle.fetchHistory();
  const payloads = JSON.stringify(history, (key, value: unknown) =>
    key === 'data' ? Buffer.from(String(value), 'base64').toString() : value,
  );
  for (const hidden of [shop.secret, shop.path, 'ada@people.test']) {
    expect(payloads).not.toContain(hidden);
  }
  const path = `/event-subscriptions/${shop.id}`;
  expect((await engine.call('DELETE', path)).status).toBe(204);
  await track(engine, 'running');
  await waitFor('the end of the run', async () => (await statusOf()) === 'COMPLETED');
  expect(shop.requests()).toHaveLength(1);
  const left = await engine.api.db
    .selectFrom('event_delivery')
    .select('event_id')
    .where('subscription_id', '=', shop.id)
    .execute();
  expect(left).toEqual([]);
  expect((await engine.call('GET', path)).status).toBe(404);
});
