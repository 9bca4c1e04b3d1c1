import { beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Campaigns that reach each contact at a local time of its zone. */

const engine = await useEngine();
beforeEach(() => deleteContacts(engine));

const hourMs = 3_600_000;
/** Zones with the time of UTC, an hour behind it and an hour ahead. */
const [here, behind, ahead] = ['Etc/UTC', 'Etc/GMT+1', 'Etc/GMT-1'];

/** Returns a whole second in the near future, as instant and as local time of UTC. */
function soon() {
  const at = Math.ceil(Date.now() / 1000) * 1000 + 5_000;
  const iso = new Date(at).toISOString();
  return { at: iso, localTime: iso.slice(0, 19), hourLater: new Date(at + hourMs).toISOString() };
}
const contactIn = (timeZone: string) => createContact(engine, newAddress(), { data: { timeZone } });

async function mailOf(campaignId: string, contactId: string) {
  const query = `campaignId=${campaignId}&contactId=${contactId}`;
  const { body } = await engine.call('GET', `/emails?${query}`);
  const [found] = body.data;
  return found ? (await engine.call('GET', `/emails/${found.id}`)).body : null;
}
const mailIn = (campaignId: string, contactId: string, status: string) =>
  waitFor(`a mail ${status}`, async () => {
    const mail = await mailOf(campaignId, contactId);
    return mail?.status === status && mail;
  });
const statesOf = (mail: { trace: { state: string }[] }) =>
  mail.trace.map(({ state }) => state).filter((state) => state !== 'throttled');
const reasonFor = async (campaignId: string, contactId: string) =>
  (await engine.call('GET', `/campaigns/${campaignId}/recipients/${contactId}`)).body.reason;

describe('a campaign with a local time', () => {
  it('reaches each contact at its own moment, whatever changes after the first', async () => {
    const [a, b] = [await contactIn(here), await contactIn(behind)];
    const id = await createCampaign(engine);
    const { at, localTime, hourLater } = soon();
    expect(await act(engine, id, 'send', { localTime })).toMatchObject({
      status: 'SCHEDULED',
      scheduledFor: at,
    });
    const sent = await mailIn(id, a, 'DELIVERED');
    expect(sent.sentAt >= at).toBe(true);
    expect(sent).toMatchObject({ scheduledFor: at, hold: null });
    expect(statesOf(sent)).toEqual(['queued', 'scheduled', 'handed_over', 'accepted', 'delivered']);
    expect(sent.trace[1].detail).toEqual({ for: at });
    const held = { status: 'PENDING', hold: { reason: 'schedule', until: hourLater } };
    expect(await mailIn(id, b, 'PENDING')).toMatchObject({ ...held, scheduledFor: hourLater });
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENDING', localTime });
    expect(await reasonFor(id, b)).toBe('pending');
    const { body: delivery } = await engine.call('GET', '/delivery');
    expect(delivery).toMatchObject({ due: 0, held: { schedule: 1, retry: 0 } });
    // The campaign ends with its last time, however fast earlier mail was sent.
    const progress = await waitFor('the numbers', async () => {
      const { body } = await engine.call('GET', `/campaigns/${id}/stats`);
      return body.data.progress?.scheduledCount === 1 && body.data.progress;
    });
    expect(progress.estimatedEndAt).toBe(hourLater);

    const late = await contactIn(here);
    expect(await reasonFor(id, late)).toBe('created_after_freeze');
    await engine.call('PATCH', `/contacts/${b}`, { data: { timeZone: here } });
    expect(await mailOf(id, b)).toMatchObject(held);
    await act(engine, id, 'pause');
    await act(engine, id, 'resume');
    expect(await mailOf(id, b)).toMatchObject(held);
    await act(engine, id, 'cancel');
    const cancelled = await mailIn(id, b, 'FAILED');
    expect(cancelled).toMatchObject({ error: 'campaign_cancelled', scheduledFor: hourLater });
    expect(await campaignOf(engine, id)).toMatchObject({ status: 'CANCELLED', sentCount: 1 });
  });

  it('sends what is late at once, unless it is to be skipped', async () => {
    const [a, c] = [await contactIn(here), await contactIn(ahead)];
    const [id, skipping] = [await createCampaign(engine), await createCampaign(engine)];
    const { at, localTime } = soon();
    const hourBefore = new Date(Date.parse(at) - hourMs).toISOString();
    expect(await act(engine, id, 'send', { localTime })).toMatchObject({ status: 'SENDING' });
    expect(await act(engine, skipping, 'send', { localTime, late: 'skip' })).toMatchObject({
      status: 'SCHEDULED',
      scheduledFor: at,
    });
    const sent = await mailIn(id, c, 'DELIVERED');
    expect(sent).toMatchObject({ scheduledFor: hourBefore });
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 2 });
    expect((await mailOf(id, a)).sentAt >= at).toBe(true);

    expect(await campaignIn(engine, skipping, 'SENT')).toMatchObject({
      sentCount: 1,
      totalRecipients: 2,
    });
    const skipped = await mailOf(skipping, c);
    expect(skipped).toMatchObject({ status: 'FAILED', error: 'late', scheduledFor: hourBefore });
    expect(statesOf(skipped)).toEqual(['queued', 'scheduled', 'withheld']);
    expect(skipped.trace.at(-1).detail).toEqual({ reason: 'late' });
    expect(await reasonFor(skipping, c)).toBe('withheld');
    expect((await mailOf(skipping, a)).sentAt >= at).toBe(true);
  });

  it('sends on resume what became due while it was paused, and skips no recipient as late', async () => {
    const [a, b] = [await contactIn(ahead), await contactIn(here)];
    const id = await createCampaign(engine);
    const { at, localTime } = soon();
    await act(engine, id, 'send', { localTime });
    await mailIn(id, a, 'DELIVERED');
    await mailIn(id, b, 'PENDING');
    await act(engine, id, 'pause');
    await waitFor('the moment', () => Date.now() > Date.parse(at) + 500);
    expect(await mailOf(id, b)).toMatchObject({ status: 'PENDING', hold: null });
    await act(engine, id, 'resume');
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 2 });
  });

  it('ends when the mail is cancelled for which it waits', async () => {
    const [a, b] = [await contactIn(ahead), await contactIn(behind)];
    const id = await createCampaign(engine);
    await act(engine, id, 'send', { localTime: soon().localTime });
    await mailIn(id, a, 'DELIVERED');
    const { id: emailId } = await mailIn(id, b, 'PENDING');
    expect((await engine.call('DELETE', `/emails/${emailId}`)).status).toBe(200);
    expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 1 });
    expect(await reasonFor(id, b)).toBe('withheld');
  });
});
