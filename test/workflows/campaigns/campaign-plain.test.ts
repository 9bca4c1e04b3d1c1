import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  createCampaign,
  insertContacts,
} from '../../support/projects/campaigns.ts';

/** Campaigns whose template cannot be rendered are sent as plain text, with a warning. */

const engine = await useEngine();
await insertContacts(engine, 3);

/** Sends a campaign. Returns its stats, and the trace of one of its mails. */
async function sent(given: object) {
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  const { body: stats } = await engine.call('GET', `/campaigns/${id}/stats`);
  const { body: emails } = await engine.call('GET', `/emails?campaignId=${id}`);
  const { body: email } = await engine.call('GET', `/emails/${emails.data[0].id}`);
  // The `throttled` state depends on the machine's load.
  const whole = email.trace as { state: string; detail: unknown }[];
  const trace = whole.filter(({ state }) => state !== 'throttled');
  return { stats: stats.data, states: trace.map(({ state }) => state), trace, email };
}

it('counts the messages and notes the reason in each of them', async () => {
  const body = '<p>{{name}}</p>\n{% for i in (1..100000000) %}x{% endfor %}';
  const { stats, states, trace, email } = await sent({ body });
  expect(stats).toMatchObject({ sentCount: 3, renderedPlainlyCount: 3 });
  expect(states).toEqual(['queued', 'rendered_plainly', 'handed_over', 'accepted', 'delivered']);
  expect(trace[1]!.detail).toEqual({
    code: 'liquid_limit',
    message: expect.any(String),
    line: 2,
  });
  expect(email.body).toContain('{% for i in');
  expect(email.body).toMatch(/<p>No\. \d<\/p>/);
});

it('says nothing of a campaign that was rendered', async () => {
  const { stats, states } = await sent({});
  expect(stats).toMatchObject({ sentCount: 3, renderedPlainlyCount: 0 });
  expect(states).toEqual(['queued', 'handed_over', 'accepted', 'delivered']);
});

it('counts a subject that cannot be rendered, too', async () => {
  const { stats, trace } = await sent({ subject: '{% for i in (1..100000000) %}x{% endfor %}' });
  expect(stats.renderedPlainlyCount).toBe(3);
  expect(trace[1]!.detail).toMatchObject({ message: expect.stringMatching(/^In the subject: /) });
});
