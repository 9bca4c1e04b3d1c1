import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { transact } from '../../../db/database.ts';
import { signalRamp } from '../../../db/ramps/ramps.ts';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  campaignOf,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Campaigns from a sender domain that warms up. */

const engine = await useEngine();
const { db } = engine.api;
beforeEach(() => deleteContacts(engine));

async function withRamp(given: object, use: (id: string) => Promise<void>) {
  const ramp = { domain: engine.domain, startPerDay: 3, factor: 2, days: 5, ...given };
  const { status, body } = await engine.call('POST', '/ramps', ramp);
  if (status !== 201) throw new Error(JSON.stringify(body));
  try {
    await use(body.id);
  } finally {
    await engine.call('DELETE', `/ramps/${body.id}`);
  }
}
const rampOf = async (id: string) => (await engine.call('GET', `/ramps/${id}`)).body;
const sentOf = async (id: string) => (await campaignOf(engine, id)).sentCount;
const rampWith = (id: string, wanted: object) =>
  waitFor(`a ramp with ${JSON.stringify(wanted)}`, async () => {
    const ramp = await rampOf(id);
    return Object.entries(wanted).every(([field, value]) => ramp[field] === value) && ramp;
  });

/** Moves the end of the day to now. */
async function endDay(id: string) {
  await transact(db, async (tx) => {
    await sql`update ramp set day_ends_at = now() where id = ${id}`.execute(tx);
    const { rows } = await sql<{ project_id: string }>`
      select project_id from ramp where id = ${id}`.execute(tx);
    await signalRamp(tx, { id, project_id: rows[0]!.project_id });
  });
}

async function sendCampaign(count: number) {
  await insertContacts(engine, count);
  const id = await createCampaign(engine);
  await act(engine, id, 'send');
  return id;
}

describe('a campaign from a sender domain with a ramp', () => {
  it('sends as much as each day allows, and stays SENDING', async () => {
    await withRamp({}, async (rampId) => {
      const id = await sendCampaign(15);
      const first = await rampWith(rampId, { used: 3, held: 12 });
      await waitFor('three mails', async () => (await sentOf(id)) === 3);
      expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENDING' });
      const { body: stats } = await engine.call('GET', `/campaigns/${id}/stats`);
      expect(stats.data).toMatchObject({ heldCount: 12 });
      const { body: list } = await engine.call('GET', '/emails?status=PENDING&limit=1');
      const { body: held } = await engine.call('GET', `/emails/${list.data[0].id}`);
      expect(held.hold).toEqual({ reason: 'warm_up', until: first.nextDayAt });
      // Transactional mail leaves at once, and counts.
      const to = newAddress();
      const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
      await engine.call('POST', '/v1/send', mail);
      await engine.mailsTo(to, 1);
      await rampWith(rampId, { used: 4 });
      await endDay(rampId);
      await rampWith(rampId, { day: 2, cap: 6, used: 6, held: 6 });
      await waitFor('six more mails', async () => (await sentOf(id)) === 9);
      await endDay(rampId);
      await campaignIn(engine, id, 'SENT');
      expect(await sentOf(id)).toBe(15);
      const { history, used } = await rampOf(rampId);
      expect(history).toMatchObject([
        { day: 1, cap: 3, sent: 4 },
        { day: 2, cap: 6, sent: 6 },
      ]);
      expect(used).toBe(6);
    });
  });

  it('leaves when the ramp is deleted, and when a paused one is resumed', async () => {
    await withRamp({ startPerDay: 1 }, async (rampId) => {
      const id = await sendCampaign(4);
      await rampWith(rampId, { used: 1, held: 3 });
      await engine.call('POST', `/ramps/${rampId}/pause`);
      await rampWith(rampId, { held: 3, status: 'PAUSED' });
      await waitFor('one mail', async () => (await sentOf(id)) === 1);
      expect(await campaignOf(engine, id)).toMatchObject({ status: 'SENDING' });
      await engine.call('POST', `/ramps/${rampId}/resume`);
      await rampWith(rampId, { held: 3, used: 1 });
      await engine.call('DELETE', `/ramps/${rampId}`);
      expect(await campaignIn(engine, id, 'SENT')).toMatchObject({ sentCount: 4 });
    });
  });
});
