import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import { recordDeliveryOutcomes } from '../../../db/transactions/mail/record-outcomes.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Situations that could leave messages without a run that sends them. */

const engine = await useEngine({ EMAIL_RATE_PER_PROJECT_PER_SECOND: '20' });

it('deleted while mail of it still waits, a cancelled campaign withholds that mail', async () => {
  await insertContacts(engine, 80);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  await waitFor('the first mails', async () => (await campaignOf(engine, id)).sentCount > 0);
  await engine.stopWorker();
  await act(engine, id, 'cancel');
  expect((await engine.call('DELETE', `/campaigns/${id}`)).status).toBe(200);
  expect(await emailStatuses(engine, id)).toMatchObject({ PENDING: expect.any(Number) });
  await engine.startWorker();
  await waitFor('nothing to be open', async () => {
    const { PENDING = 0, SENDING = 0 } = await emailStatuses(engine, id);
    return PENDING + SENDING === 0;
  });
  const failed = engine.api.db.selectFrom('email').select('error').distinct();
  expect(await failed.where('status', '=', 'FAILED').execute()).toEqual([
    { error: 'campaign_cancelled' },
  ]);
});

it('a value that renders to unstorable text prevents no other mail', async () => {
  await deleteContacts(engine);
  const people = [
    { email: 'ada@people.test', data: { name: '\u{1f600}', code: '%00' } },
    { email: 'bob@people.test', data: { name: 'Bob', code: 'B' } },
  ];
  for (const person of people) await engine.call('POST', '/contacts', person);
  const id = await createCampaign(engine, {
    subject: 'Hi {{ name | split: "" | first }}',
    body: '<p>{{ name | split: "" | first }}, {{ code | url_decode }}</p>',
  });
  await act(engine, id, 'send');
  await campaignIn(engine, id, 'SENT');
  expect(await emailStatuses(engine, id)).toEqual({ DELIVERED: 2 });
  const { subject, body } = await engine.api.db
    .selectFrom('email')
    .select(['subject', 'body'])
    .where('campaign_id', '=', id)
    .where('to_email', '=', 'ada@people.test')
    .executeTakeFirstOrThrow();
  expect(subject).toBe('Hi \u{fffd}');
  expect(body).toContain('<p>\u{fffd}, \u{fffd}</p>');
});

it('nor does what a provider says', async () => {
  await engine.stopWorker();
  const { db } = engine.api;
  const mail = { to: 'eve@people.test', from: `a@${engine.domain}`, subject: 'Hi', body: 'Hi' };
  await engine.call('POST', '/v1/send', mail);
  const attempt = { projectId: engine.project.id, attemptId: randomUUID() };
  const rules = { max: 1, leaseSeconds: 60, throttled: false };
  const [email] = await claimDueEmails(db, { ...attempt, ...rules });
  await recordDeliveryOutcomes(db, {
    projectId: attempt.projectId,
    attemptIds: [attempt.attemptId],
    outcomes: [{ emailId: email!.id, kind: 'refused', error: 'No \0 such user \u{d83d}' }],
  });
  const row = db.selectFrom('email').select(['status', 'error']).where('id', '=', email!.id);
  expect(await row.executeTakeFirst()).toEqual({
    status: 'FAILED',
    error: 'No \u{fffd} such user \u{fffd}',
  });
});
