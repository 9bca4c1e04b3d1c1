import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { track, untilDeliveries } from '../../support/projects/subscriptions.ts';

/** If private addresses are not allowed, no request goes to one, under any host name. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'false' });
const receiver = await useReceiver();

/**
 * Waits for the first attempt of a subscription's only delivery, which is refused with the error.
 */
async function expectRefusal(subscriptionId: string, error: string): Promise<void> {
  const [delivery] = await untilDeliveries(
    engine,
    subscriptionId,
    ([one]) => (one?.attempts.length ?? 0) > 0,
  );
  expect(delivery).toMatchObject({ status: 'pending', attempts: [{ statusCode: null, error }] });
}

it('a name that means an address of this machine is refused when it is connected', async () => {
  const { port } = new URL(receiver.url);
  const body = { url: `http://localhost:${port}/inside`, events: ['guarded'] };
  const made = await engine.call('POST', '/event-subscriptions', body);
  expect(made.status).toBe(201);
  for (const url of [`http://127.0.0.1:${port}/`, 'http://[::ffff:10.0.0.1]/']) {
    const refused = await engine.call('POST', '/event-subscriptions', { ...body, url });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain('not_allowed');
  }
  await track(engine, 'guarded');
  await expectRefusal(made.body.id, 'address_refused');
  expect(receiver.requests('/inside')).toEqual([]);
});

it('nothing is sent with a secret that was bound to other hosts since', async () => {
  const { port } = new URL(receiver.url);
  const put = (hosts: string[] | null) =>
    engine.call('PUT', '/secrets/HOOK', { value: 'never-sent', hosts });
  await put(null);
  const made = await engine.call('POST', '/event-subscriptions', {
    url: `http://localhost:${port}/bound`,
    events: ['bound'],
    headers: { Authorization: 'Bearer {{secret.HOOK}}' },
  });
  expect(made.status).toBe(201);
  await put(['hooks.example']);
  await track(engine, 'bound');
  await expectRefusal(made.body.id, 'secret_refused');
  const tested = await engine.call('POST', `/event-subscriptions/${made.body.id}/test`, {});
  expect(tested.body).toMatchObject({ statusCode: null, error: 'secret_refused' });
  expect(receiver.requests('/bound')).toEqual([]);
});
