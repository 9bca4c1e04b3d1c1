import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { type Engine, useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { received, subscribe, track } from '../../support/projects/subscriptions.ts';
import { waitFor } from '../../support/wait-for.ts';

/** A receiver that hangs or fails affects only its own subscription. */

const engine = await useEngine({
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_TIMEOUT_MS: '2000',
  EVENT_DELIVERY_RETRY_SECONDS: '1,1,1',
  EVENT_DELIVERY_FAILING_SECONDS: '5',
});
// Only the workers get this setting: with it, the API would require verified addresses.
engine.services.platformFrom = 'everpost@platform.test';
const receiver = await useReceiver();
const { api } = engine;

/** Creates a project of another user, called with its own key. */
async function anotherProject(name: string): Promise<{ id: string; engine: Engine }> {
  const { id, secretKey } = await api.createProject((await api.signUp()).cookie, name);
  const call: Engine['call'] = (method, path, body, headers = {}) =>
    api.request(method, path, { key: secretKey, body, headers });
  return { id, engine: { ...engine, call } };
}

// How much longer the campaign takes is measured by `npm run bench -- subscriptions`.
it(
  'a receiver that hangs holds back neither campaigns nor other projects',
  { timeout: 200_000 },
  async () => {
    await insertContacts(engine, 2_000);
    const { engine: neighbour } = await anotherProject('Neighbour');
    const shop = await subscribe(neighbour, receiver, ['noticed']);
    const hanging = await subscribe(engine, receiver, ['*']);
    receiver.answer(hanging.path, { status: 200, until: new Promise(() => {}) });
    const id = await createCampaign(engine);
    await act(engine, id, 'send');
    let isOver = false;
    const sent = campaignIn(engine, id, 'SENT', 120_000).finally(() => {
      isOver = true;
    });
    const delays: number[] = [];
    do {
      const before = shop.requests().length;
      const at = performance.now();
      await track(neighbour, 'noticed');
      await received(shop, before + 1);
      delays.push(performance.now() - at);
      await sleep(100);
    } while (!isOver);
    expect(await sent).toMatchObject({ sentCount: 2_000 });
    // Behind hanging requests, each would wait. Beside other tests, deliveries slow down now and
    // then.
    const median = delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)];
    expect(median).toBeLessThan(5_000);
    expect(Math.max(...delays)).toBeLessThan(15_000);
    await engine.call('DELETE', `/event-subscriptions/${hanging.id}`);
  },
);

it('a receiver that always fails is disabled in time, and only the owner gets a mail', async () => {
  const { id: projectId, engine: own } = await anotherProject('Failing shop');
  const member = await api.signUp();
  await api.db
    .insertInto('membership')
    .values({ project_id: projectId, user_id: member.userId, role: 'MEMBER' })
    .execute();
  const shop = await subscribe(own, receiver, ['failing']);
  receiver.answer(shop.path, { status: 500 });
  let isOver = false;
  const tracking = (async () => {
    for (let number = 0; !isOver; number += 1) {
      await track(own, 'failing', `${number}@failing.test`);
      await sleep(1_000);
    }
  })();
  const disabled = await waitFor('the subscription to be disabled', async () => {
    const { body } = await own.call('GET', `/event-subscriptions/${shop.id}`);
    return body.enabled ? null : body;
  });
  isOver = true;
  await tracking;
  expect(disabled).toMatchObject({ enabled: false, disabledReason: 'failing', from: null });
  const lasted = Date.parse(disabled.updatedAt) - Date.parse(disabled.failingSince);
  expect(lasted).toBeGreaterThanOrEqual(5_000);
  const mails = async () => {
    const { rows } = await sql<{ recipient: string }>`
      select recipient from mailbox_message where subject like 'Events of the project “Failing shop”%'`.execute(
      api.db,
    );
    return rows.map(({ recipient }) => recipient);
  };
  await waitFor('the mail', async () => (await mails()).length > 0);
  expect(await mails()).toHaveLength(1);
  expect(await mails()).not.toContain(member.email);
});
