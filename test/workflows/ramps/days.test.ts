import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine({ RAMP_DAY_SECONDS: '3' });
const { db } = engine.api;

async function createRamp(more: object = {}) {
  const given = { domain: `${randomUUID()}.test`, startPerDay: 3, factor: 2, days: 3, ...more };
  const { status, body } = await engine.call('POST', '/ramps', given);
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}
const rampOf = async (id: string) => (await engine.call('GET', `/ramps/${id}`)).body;
const onDay = (id: string, day: number) =>
  waitFor(`day ${day}`, async () => {
    const ramp = await rampOf(id);
    return ramp.day >= day && ramp;
  });
const done = (id: string) =>
  waitFor('the end of a ramp', async () => {
    const ramp = await rampOf(id);
    return ramp.status === 'DONE' && ramp;
  });
const runOf = (id: string) => engine.temporal.client.workflow.getHandle(`ramp-${id}`);
const statusOf = async (id: string) => (await runOf(id).describe()).status.name;
const runIn = (id: string, status: string) =>
  waitFor(`a run ${status}`, async () => (await statusOf(id)) === status);

describe('the days of a ramp', () => {
  it('begin one after the other, until it is done and its run has ended', async () => {
    const { id } = await createRamp();
    const { day, cap } = await onDay(id, 2);
    expect(cap).toBe(day === 2 ? 6 : 12);
    const ramp = await done(id);
    expect(ramp).toMatchObject({ day: 3, cap: null, nextDayAt: null, used: 0 });
    const none = { sent: 0, bounced: 0, complained: 0 };
    expect(ramp.history).toEqual([
      { day: 1, cap: 3, ...none },
      { day: 2, cap: 6, ...none },
      { day: 3, cap: 12, ...none },
    ]);
    await runIn(id, 'COMPLETED');
  });

  it('that passed while the worker was down are passed on its return, and then end on time', async () => {
    const { id, nextDayAt } = await createRamp({ days: 90, factor: 1 });
    await engine.stopWorker();
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    await engine.startWorker();
    const ramp = await onDay(id, 3);
    expect(Date.parse(ramp.nextDayAt) - Date.parse(nextDayAt)).toBe((ramp.day - 1) * 3_000);
    expect(ramp.history).toHaveLength(ramp.day - 1);
    await engine.call('DELETE', `/ramps/${id}`);
    await runIn(id, 'COMPLETED');
  });

  it('do not pass while it is paused, and its run waits without a timer', async () => {
    const { id } = await createRamp();
    await engine.call('POST', `/ramps/${id}/pause`);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(await rampOf(id)).toMatchObject({ status: 'PAUSED', day: 1 });
    await engine.call('POST', `/ramps/${id}/resume`);
    await onDay(id, 2);
    await engine.call('DELETE', `/ramps/${id}`);
    await runIn(id, 'COMPLETED');
  });

  it('continue when Temporal has lost the run: the sweep starts it again', async () => {
    const { id } = await createRamp({ days: 90 });
    await onDay(id, 2);
    await runOf(id).terminate('lost');
    await runIn(id, 'TERMINATED');
    const lost = await rampOf(id);
    const late = { reconcile_at: sql<Date>`now() - interval '1 second'` };
    await db.updateTable('ramp').set(late).where('id', '=', id).execute();
    await sweepNow(engine);
    await runIn(id, 'RUNNING');
    await onDay(id, lost.day + 1);
    await engine.call('DELETE', `/ramps/${id}`);
    await runIn(id, 'COMPLETED');
  });
});
