import { bySecretKey } from '../../support/actors.ts';
import { beforeEach, expect, it } from 'vitest';
import {
  act,
  campaignIn,
  createCampaign,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useSmtpSink } from '../../support/fakes/smtp-sink.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** The provider refuses the mail of a campaign. */

let refuseTo: (address: string) => number | null;
const sink = await useSmtpSink({ refuseTo: (address) => refuseTo(address) });
const engine = await useEngine({
  SMTP_HOST: '127.0.0.1',
  SMTP_PORT: String(sink.port),
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
  CAMPAIGN_PAUSE_ON_FAILURES: '30',
});
beforeEach(() => dropContacts(engine.api.db));

it('pauses it when it refuses everything, and reaches the rest when it goes on', async () => {
  refuseTo = () => 550;
  const to = await insertContacts(engine, 1000);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  const paused = await campaignIn(engine, id, 'PAUSED');
  expect(paused).toMatchObject({ pausedReason: 'provider_failures', sentCount: 0 });
  const { FAILED: refused = 0, PENDING: waiting = 0 } = await waitFor(
    'what was claimed to be put back',
    async () => {
      const statuses = await emailStatuses(engine, id);
      return !statuses['SENDING'] && statuses;
    },
  );
  expect(refused).toBeGreaterThanOrEqual(30);
  // Each batch stops after thirty refusals and its messages in flight.
  expect(refused).toBeLessThan(500);
  expect(waiting).toBe(1000 - refused);
  const { body } = await engine.call('GET', `/emails?campaignId=${id}&status=FAILED&limit=1`);
  const [email] = body.data;
  expect(email.error).toContain('550');
  const { body: one } = await engine.call('GET', `/emails/${email.id}`);
  expect(one.trace.at(-1)).toMatchObject({ state: 'refused', detail: { error: email.error } });
  const { body: reason } = await engine.call(
    'GET',
    `/campaigns/${id}/recipients/${email.contactId}`,
  );
  expect(reason).toMatchObject({ included: true, reason: 'refused', emailId: email.id });

  refuseTo = () => null;
  await act(engine, id, 'resume');
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: waiting });
  expect(to.filter((address) => sink.countTo(address) === 1)).toHaveLength(waiting);
  expect(sink.messages).toHaveLength(waiting);
});

it('does not pause it when it refuses some', async () => {
  await insertContacts(engine, 300);
  refuseTo = (address) => (/[02468]@/.test(address) ? 550 : null);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({
    sentCount: 150,
    totalRecipients: 300,
  });
});

it('is asked again for what it could not take at once, and gets each mail once', async () => {
  const to = await insertContacts(engine, 200);
  const asked = new Set<string>();
  refuseTo = (address) => {
    if (asked.has(address) || !/[147]@/.test(address)) return null;
    asked.add(address);
    return 450;
  };
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 200 });
  expect(to.filter((address) => sink.countTo(address) === 1)).toHaveLength(200);
  const [twice] = asked;
  const email = await engine.api.db
    .selectFrom('email')
    .select('id')
    .where('to_email', '=', twice ?? '')
    .executeTakeFirstOrThrow();
  const { body: one } = await engine.call('GET', `/emails/${email.id}`);
  expect(
    one.trace.map(({ state, detail }: { state: string; detail: object }) => [state, detail]),
  ).toEqual([
    ['queued', { causedBy: bySecretKey }],
    ['handed_over', { attempt: 1 }],
    ['refused', { error: expect.stringContaining('450'), nextTryInMs: 2000 }],
    ['handed_over', { attempt: 2 }],
    ['accepted', { messageId: `${email.id}@smtp` }],
  ]);
});
