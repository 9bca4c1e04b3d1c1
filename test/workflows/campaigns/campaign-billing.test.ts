import { bySecretKey } from '../../support/actors.ts';
import { expect, it } from 'vitest';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  emailStatuses,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { useEngine } from '../../support/engine.ts';
import { useFakeStripe } from '../../support/fakes/stripe.ts';

/** An accepted campaign whose project has no allowance left when it is sent. */

const stripe = await useFakeStripe();
const engine = await useEngine({
  ...stripe.environment,
  FREE_TIER_EMAILS_PER_MONTH: '10',
  EMAIL_RATE_LIMIT_PER_SECOND: '0',
  EMAIL_RATE_PER_PROJECT_PER_SECOND: '0',
});
const to = await insertContacts(engine, 8);
const admin = await engine.api.signUp();
await engine.api.db
  .insertInto('membership')
  .values({ project_id: engine.project.id, user_id: admin.userId, role: 'ADMIN' })
  .execute();

const statsOf = async (id: string) =>
  (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;
const billing = (method: string, body?: object) =>
  engine.api.request(method, `/users/@me/projects/${engine.project.id}/billing-limits`, {
    cookie: admin.cookie,
    body,
  });

/** Returns one of the suppressed messages, as the API shows it. */
async function suppressedOf(id: string) {
  const { body } = await engine.call('GET', `/emails?campaignId=${id}&status=FAILED`);
  const { body: email } = await engine.call('GET', `/emails/${body.data[0].id}`);
  const { body: recipient } = await engine.call(
    'GET',
    `/campaigns/${id}/recipients/${email.contactId}`,
  );
  const { body: mailbox } = await engine.api.request('GET', `/local/mailbox?to=${email.toEmail}`);
  return { total: body.total, email, recipient, subjects: subjectsOf(mailbox) };
}

const subjectsOf = (mails: { subject: string }[]) => mails.map(({ subject }) => subject);

it('sends what is left, withholds the rest as billing_limit, and is SENT', async () => {
  await engine.stopWorker();
  const id = await createCampaign(engine, { subject: 'Sale' });
  await act(engine, id, 'send');
  // Five of the ten are used meanwhile.
  const mail = { from: `team@${engine.domain}`, subject: 'Hi', body: 'Hi' };
  const accepted = await engine.call('POST', '/v1/send', { ...mail, to: to.slice(0, 5) });
  expect(accepted.status).toBe(200);
  await engine.startWorker();
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({
    totalRecipients: 8,
    sentCount: 5,
    deliveredCount: 5,
    pausedReason: null,
  });
  expect(await emailStatuses(engine, id)).toEqual({ DELIVERED: 5, FAILED: 3 });
  expect(await statsOf(id)).toMatchObject({
    totalRecipients: 8,
    sentCount: 5,
    uncertainCount: 0,
    deliveryRate: 100,
  });
  const { total, email, recipient, subjects } = await suppressedOf(id);
  expect(total).toBe(3);
  expect(email).toMatchObject({ error: 'billing_limit', sentAt: null, messageId: null });
  expect(email.trace).toEqual([
    { at: email.createdAt, state: 'queued', detail: { causedBy: bySecretKey } },
    { at: expect.any(String), state: 'withheld', detail: { reason: 'billing_limit' } },
  ]);
  expect(recipient).toMatchObject({ included: true, reason: 'withheld', emailId: email.id });
  expect(subjects).not.toContain('Sale');
  expect((await billing('GET')).body).toMatchObject({ campaigns: { usage: 5 } });
});

it('is refused with 402 once nothing is left, and stays a draft', async () => {
  const id = await createCampaign(engine);
  const refused = await engine.call('POST', `/campaigns/${id}/send`);
  expect([refused.status, refused.body.error.code]).toEqual([402, 'BILLING_LIMIT_EXCEEDED']);
  expect(refused.body.error.details).toEqual({ category: 'campaigns', limit: 10, usage: 10 });
  expect((await campaignOf(engine, id)).status).toBe('DRAFT');
});

it('reaches no contact when its limit is lowered before its time, and is SENT', async () => {
  await engine.api.db
    .updateTable('project')
    .set({ customer: 'cus_1', subscription: 'sub_1' })
    .where('id', '=', engine.project.id)
    .execute();
  expect((await billing('PUT', { campaigns: 13 })).status).toBe(200);
  const id = await createCampaign(engine);
  const scheduledFor = new Date(Date.now() + 2_000).toISOString();
  expect(await act(engine, id, 'send', { scheduledFor })).toMatchObject({ status: 'SCHEDULED' });
  expect((await billing('PUT', { campaigns: 5 })).status).toBe(200);
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ totalRecipients: 8, sentCount: 0 });
  expect(await emailStatuses(engine, id)).toEqual({ FAILED: 8 });
  expect(await suppressedOf(id)).toMatchObject({ total: 8, email: { error: 'billing_limit' } });
  expect(await statsOf(id)).toMatchObject({ sentCount: 0, deliveryRate: 0 });
});
