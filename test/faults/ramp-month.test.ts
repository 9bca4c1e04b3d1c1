import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { transact } from '../../db/database.ts';
import { findRamp, signalRamp } from '../../db/ramps/ramps.ts';
import { act, campaignIn, createCampaign, insertContacts } from '../support/projects/campaigns.ts';
import { waitFor } from '../support/wait-for.ts';
import { useWorld } from './table/world.ts';

/**
 * A campaign from a sender domain that warms up for 30 days. The test ends each day. On three days
 * it kills the worker while it sends.
 */

const world = await useWorld(2_000);
const { db, engine, sink } = world;
const projectId = engine.project.id;

const ramp = { domain: engine.domain, startPerDay: 5, factor: 1.2, days: 30 };
const deadlyDays = [11, 18, 25];
/** More than the month allows. */
const recipients = 6_000;

async function endDay(id: string): Promise<void> {
  await transact(db, async (tx) => {
    await sql`update ramp set day_ends_at = now() where id = ${id}`.execute(tx);
    await signalRamp(tx, { id, project_id: projectId });
  });
}

async function killWorker(): Promise<void> {
  await Promise.all(world.workers.splice(0).map((worker) => worker.kill()));
  world.workers.push(await world.startWorker());
  await world.journalsTaken();
  await world.runOutClaims();
}

/** Mail that is being sent or has an unknown outcome, and mail that is due. */
async function countUnderWay(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select ((select count(*) from email_queue where held_until is null)
        + (select count(*) from campaign_chunk))::int as count`.execute(db);
  return rows[0]?.count ?? 0;
}

it(
  'sends what each day of a month allows, and each message once',
  { timeout: 900_000 },
  async () => {
    const { body } = await engine.call('POST', '/ramps', ramp);
    const id: string = body.id;
    const rampOf = async () => (await engine.call('GET', `/ramps/${id}`)).body;
    await insertContacts(engine, recipients);
    const campaignId = await createCampaign(engine);
    await act(engine, campaignId, 'send');
    for (let day = 1; day <= ramp.days; day += 1) {
      const { cap } = await waitFor(`day ${day}`, async () => {
        const now = await rampOf();
        return now.day === day && now;
      });
      const isDeadly = deadlyDays.includes(day);
      if (isDeadly) {
        const before = sink.taken;
        await waitFor('some mail', () => sink.taken > before + cap / 4 || null);
        await killWorker();
        await waitFor('the outcomes', async () => (await countUnderWay()) === 0, 120_000);
      }
      const { used } = await waitFor(`${cap} mails of day ${day}`, async () => {
        const now = await rampOf();
        return (isDeadly || now.used === cap) && (await countUnderWay()) === 0 && now;
      });
      expect(used).toBeLessThanOrEqual(cap);
      await endDay(id);
    }
    await campaignIn(engine, campaignId, 'SENT', 120_000);
    const { history, status } = await rampOf();
    expect([status, history.length]).toEqual(['DONE', ramp.days]);
    for (const { day, cap, sent } of history as { day: number; cap: number; sent: number }[]) {
      expect(sent).toBeLessThanOrEqual(cap);
      if (!deadlyDays.includes(day)) expect([day, sent]).toEqual([day, cap]);
    }
    expect(Math.max(...sink.emails.values())).toBe(1);
    const rows = await db
      .selectFrom('email')
      .select(['id', 'status', 'error'])
      .where('campaign_id', '=', campaignId)
      .execute();
    expect(rows).toHaveLength(recipients);
    const unknown = rows.filter(({ error }) => error === 'delivery_unknown');
    const sent = rows.filter((row) => row.status === 'SENT');
    expect(sent.length + unknown.length).toBe(recipients);
    expect(sent.filter((row) => !sink.emails.has(row.id))).toEqual([]);
    expect(unknown.length).toBeLessThan(deadlyDays.length * 20);
    expect(await findRamp(db, projectId, id)).toMatchObject({ status: 'DONE', reconcile_at: null });
  },
);
