import { expect, it } from 'vitest';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Slow enough to opt out meanwhile, on any machine. */
const perSecond = 20;
const recipients = 300;

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: String(perSecond) });

it('suppresses the mail of contacts who opt out before its turn, and shows which', async () => {
  await insertContacts(engine, recipients);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  const last = await waitFor('the audience to be fixed', async () => {
    const { audience_fixed: isFixed } = await engine.api.db
      .selectFrom('campaign')
      .select('audience_fixed')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const row = await engine.api.db
      .selectFrom('email')
      .select(['id', 'contact_id'])
      .where('campaign_id', '=', id)
      .where('status', '=', 'PENDING')
      .orderBy('due_at', 'desc')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    return isFixed && row;
  });
  const optOut = await engine.call('PATCH', `/contacts/${last.contact_id}`, { subscribed: false });
  expect(optOut.status).toBe(200);
  expect(await campaignIn(engine, id, 'SENT', 90_000)).toMatchObject({ sentCount: recipients - 1 });
  const { body: email } = await engine.call('GET', `/emails/${last.id}`);
  expect(email).toMatchObject({ status: 'FAILED', error: 'contact_unsubscribed' });
  const states = email.trace.map(({ state }: { state: string }) => state);
  // The `throttled` state depends on the machine's speed: its chunk may or may not reach the rate
  // limit.
  expect(states.filter((state: string) => state !== 'throttled')).toEqual(['queued', 'withheld']);
  const page = await engine.call('GET', `/emails?campaignId=${id}&limit=100`);
  const traces = await Promise.all(
    page.body.data.map(async (mail: { id: string }) => {
      const { body } = await engine.call('GET', `/emails/${mail.id}`);
      return body.trace.map(({ state }: { state: string }) => state);
    }),
  );
  expect(traces).toContainEqual(expect.arrayContaining(['throttled']));
  expect(email.trace.at(-1).detail).toEqual({ reason: 'contact_unsubscribed' });
}, 180_000);
