import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';
import { writeMail } from '../../support/mail-tables.ts';

/** Marketing mail that quiet hours and frequency caps hold back. */

const engine = await useEngine();
const none = { quietHours: null, caps: [], onCap: 'skip' };

async function setPolicy(policy: object) {
  const answer = await engine.call('PUT', '/send-policy', policy);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}
beforeEach(async () => {
  await setPolicy({ timeZone: 'Etc/GMT-6', ...none });
  await deleteContacts(engine);
});

/** Returns quiet hours around now in UTC. */
function quietFor(ms: number) {
  const text = (at: number) => new Date(at).toISOString().slice(11, 19);
  return { from: text(Date.now() - 60_000), to: text(Date.now() + ms) };
}
const hourMs = 3_600_000;
const inUtc = { data: { timeZone: 'UTC' } };

async function contact(data: object = inUtc) {
  const email = newAddress();
  return { email, id: await createContact(engine, email, data) };
}

/** Returns the only mail of a contact that the query finds. */
async function mailOf(contactId: string, query = '') {
  const { body } = await engine.call('GET', `/emails?contactId=${contactId}${query}`);
  const [found] = body.data;
  return found ? (await engine.call('GET', `/emails/${found.id}`)).body : null;
}
const mailIn = (contactId: string, status: string, query = '') =>
  waitFor(`a mail ${status}`, async () => {
    const mail = await mailOf(contactId, query);
    return mail?.status === status && mail;
  });
const heldMail = (contactId: string, reason: string, query = '') =>
  waitFor(`a mail held by ${reason}`, async () => {
    const mail = await mailOf(contactId, query);
    return mail?.hold?.reason === reason && mail;
  });
const statesOf = (mail: { trace: { state: string }[] }) =>
  mail.trace.map(({ state }) => state).filter((state) => state !== 'throttled');

/** Sends a campaign to all contacts. */
async function campaign(given: object = {}) {
  const id = await createCampaign(engine, given);
  await act(engine, id, 'send');
  return id;
}
const statsOf = async (id: string) =>
  (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;

describe('quiet hours', () => {
  it('hold the mail of a campaign to those in whose zone they are, until they end', async () => {
    const [there, away, unknown] = [
      await contact(),
      await contact({ data: { timeZone: 'Etc/GMT+6' } }),
      await contact({ data: { timeZone: 'nonsense' } }),
    ];
    const quietHours = quietFor(8_000);
    await setPolicy({ quietHours });
    const id = await campaign();
    const held = await heldMail(there.id, 'quiet_hours');
    expect(held.hold.until.slice(11, 19)).toBe(quietHours.to);
    expect(held).toMatchObject({ status: 'PENDING', sentAt: null });
    for (const one of [away, unknown]) await mailIn(one.id, 'DELIVERED');
    expect(await statsOf(id)).toMatchObject({ heldCount: 1, sentCount: 2 });
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENDING' });
    const recipient = await engine.call('GET', `/campaigns/${id}/recipients/${there.id}`);
    expect(recipient.body).toMatchObject({ included: true, reason: 'pending' });
    const rows = engine.api.db.selectFrom('email').select(['attempts', 'allowance_month']);
    expect(await rows.where('contact_id', '=', there.id).execute()).toEqual([
      { attempts: 0, allowance_month: null },
    ]);
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 3 });
    const sent = await mailOf(there.id);
    expect(sent.sentAt >= held.hold.until).toBe(true);
    expect(sent).toMatchObject({ status: 'DELIVERED', hold: null });
    expect(statesOf(sent)).toEqual(['queued', 'held', 'handed_over', 'accepted', 'delivered']);
    expect(sent.trace[1].detail).toEqual({ reason: 'quiet_hours', until: held.hold.until });
    expect(await engine.mailsTo(there.email, 1)).toHaveLength(1);
  });

  it('concern neither other classes nor mail to one contact, and no tests', async () => {
    const { id, email } = await contact();
    await setPolicy({ quietHours: quietFor(hourMs) });
    for (const messageType of ['TRANSACTIONAL', 'HEADLESS']) {
      expect(await campaignIn(engine, await campaign({ messageType }), 'SENT')).toMatchObject({
        sentCount: 1,
      });
    }
    const template = await createTemplate(engine, { type: 'MARKETING' });
    await engine.call('POST', '/v1/send', { to: email, template });
    await mailIn(id, 'DELIVERED', '&sourceType=TRANSACTIONAL');
    const draft = await createCampaign(engine);
    await engine.call('POST', `/campaigns/${draft}/test`, { email });
    expect(await engine.mailsTo(email, 4)).toHaveLength(4);
  });

  it('that end with a change of the policy let go what they held, and note one hold', async () => {
    const { id } = await contact();
    await setPolicy({ quietHours: quietFor(hourMs) });
    const held = await campaign();
    const { hold } = await heldMail(id, 'quiet_hours');
    const { body: delivery } = await engine.call('GET', '/delivery');
    expect(delivery.held).toEqual({ schedule: 0, quiet_hours: 1, frequency_cap: 0, retry: 0 });
    // A change without effect on the mail.
    await setPolicy({ caps: [{ max: 100, perDays: 1 }] });
    expect((await heldMail(id, 'quiet_hours')).hold).toEqual(hold);
    await setPolicy({ quietHours: null });
    await campaignIn(engine, held, 'SENT');
    expect(statesOf(await mailOf(id)).filter((state) => state === 'held')).toHaveLength(1);
  });

  it('hold the mail of a step while its execution continues; the end of the execution ends the mail', async () => {
    await setPolicy({ quietHours: quietFor(hourMs) });
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const mail = { type: 'SEND_EMAIL', name: 'Mail', templateId };
    const wait = { type: 'DELAY', name: 'Wait', config: { amount: 1, unit: 'days' } };
    const exit = { type: 'EXIT', name: 'Exit', config: { reason: 'done' } };
    const waiting = await createWorkflow(engine, {
      eventName: 'a',
      steps: [mail, wait],
      exitRules: [{ eventName: 'bought', reason: 'bought' }],
    });
    const leaving = await createWorkflow(engine, { eventName: 'b', steps: [mail, exit] });
    const [cancelled, bought, left] = [await contact(), await contact(), await contact()];
    const execution = await startByHand(engine, waiting.id, cancelled.id);
    await startByHand(engine, waiting.id, bought.id);
    const ended = await startByHand(engine, leaving.id, left.id);
    for (const one of [cancelled, bought, left]) await heldMail(one.id, 'quiet_hours');
    await executionIn(engine, waiting.id, execution, 'WAITING');
    await executionIn(engine, leaving.id, ended, 'EXITED');

    const path = `/workflows/${waiting.id}/executions/${execution}`;
    expect((await engine.call('DELETE', path)).status).toBe(200);
    await engine.call('POST', '/v1/track', { email: bought.email, event: 'bought' });
    for (const one of [cancelled, bought]) {
      const failed = await mailIn(one.id, 'FAILED');
      expect(failed).toMatchObject({ error: 'execution_ended', hold: null });
      expect(failed.trace.at(-1)).toMatchObject({
        state: 'withheld',
        detail: { reason: 'execution_ended' },
      });
    }
    await setPolicy({ quietHours: null });
    await mailIn(left.id, 'DELIVERED');
  });

  it('go on when all comes back after a while; what was scheduled has left once by then', async () => {
    const { id } = await contact();
    await setPolicy({ quietHours: quietFor(hourMs) });
    await campaign();
    const { hold } = await heldMail(id, 'quiet_hours');
    const to = newAddress();
    const scheduledFor = Date.now() + 3_000;
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>', scheduledFor };
    const { body } = await engine.call('POST', '/v1/send', { ...mail, to });
    await engine.stopWorker();
    await waitFor('the moment', () => Date.now() > scheduledFor + 500);
    await engine.startWorker();
    const [{ contact: other }] = body.data.emails;
    const sent = await mailIn(other.id, 'DELIVERED');
    expect(Date.parse(sent.sentAt)).toBeGreaterThan(scheduledFor);
    expect(await engine.mailsTo(to, 1)).toHaveLength(1);
    const held = await mailOf(id);
    expect(held).toMatchObject({ status: 'PENDING', hold });
    expect(statesOf(held)).toEqual(['queued', 'held']);
  });

  it('are followed by another look: who opted out meanwhile gets nothing', async () => {
    const { id } = await contact();
    await setPolicy({ quietHours: quietFor(hourMs) });
    const held = await campaign();
    await heldMail(id, 'quiet_hours');
    await engine.call('PATCH', `/contacts/${id}`, { subscribed: false });
    await setPolicy({ caps: [] });
    expect(await mailIn(id, 'FAILED')).toMatchObject({ error: 'contact_unsubscribed' });
    await campaignIn(engine, held, 'SENT');
  });
});

describe('frequency caps', () => {
  it('that skip fail the mail above them, also of workflows that send at once', async () => {
    await setPolicy({ caps: [{ max: 3, perDays: 1 }] });
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const steps = [{ type: 'SEND_EMAIL', name: 'Mail', templateId }];
    for (let count = 0; count < 8; count++) {
      await createWorkflow(engine, { eventName: 'many', steps });
    }
    const { id, email } = await contact();
    const event = engine.call('POST', '/v1/track', { email, event: 'many' });
    const campaigns = await Promise.all([campaign(), campaign(), campaign()]);
    await event;
    for (const one of campaigns) await campaignIn(engine, one, 'SENT');
    const all = await waitFor('all mails to end', async () => {
      const { body } = await engine.call('GET', `/emails?contactId=${id}&limit=50`);
      const open = body.data.filter(({ status }: { status: string }) => status.endsWith('ING'));
      return body.data.length === 11 && open.length === 0 && body.data;
    });
    const accepted = all.filter(({ sentAt }: { sentAt: string | null }) => sentAt !== null);
    expect(accepted).toHaveLength(3);
    const errors = all.map(({ error }: { error: string | null }) => error).filter(Boolean);
    expect(errors).toEqual(Array.from({ length: 8 }, () => 'frequency_cap'));

    const last = await campaign();
    expect(await campaignIn(engine, last, 'SENT')).toMatchObject({ sentCount: 0 });
    const recipient = await engine.call('GET', `/campaigns/${last}/recipients/${id}`);
    expect(recipient.body).toMatchObject({ reason: 'withheld' });
    const { body: workflows } = await engine.call('GET', '/workflows?pageSize=100');
    for (const one of workflows.data) {
      await engine.call('PATCH', `/workflows/${one.id}`, { enabled: false });
    }
  });

  it('count what has left today, however long it has waited', async () => {
    await setPolicy({ caps: [{ max: 1, perDays: 1 }] });
    const { id } = await contact();
    await campaignIn(engine, await campaign(), 'SENT');
    await mailIn(id, 'DELIVERED');
    await writeMail(engine.api.db, (tx) =>
      sql`update email set created_at = created_at - interval '40 days'
      where contact_id = ${id}`.execute(tx),
    );
    const last = await campaign();
    await campaignIn(engine, last, 'SENT');
    const recipient = await engine.call('GET', `/campaigns/${last}/recipients/${id}`);
    expect(recipient.body).toMatchObject({ reason: 'withheld' });
    await setPolicy({ caps: [] });
  });

  it('that delay hold it until there is room, and a change of the policy lets it go', async () => {
    const { id } = await contact();
    await setPolicy({ caps: [{ max: 1, perDays: 1 }], onCap: 'delay' });
    const first = await campaign();
    await campaignIn(engine, first, 'SENT');
    const { sentAt } = await mailOf(id);
    const second = await campaign();
    const query = `&campaignId=${second}`;
    const { hold } = await heldMail(id, 'frequency_cap', query);
    expect(Date.parse(hold.until) - Date.parse(sentAt)).toBe(24 * hourMs);
    expect(await statsOf(second)).toMatchObject({ heldCount: 1 });
    await setPolicy({ caps: [] });
    await campaignIn(engine, second, 'SENT');
    const sent = await mailIn(id, 'DELIVERED', query);
    expect(statesOf(sent).filter((state) => state === 'held')).toHaveLength(1);
    expect(await statsOf(second)).toMatchObject({ heldCount: 0 });
  });
});
