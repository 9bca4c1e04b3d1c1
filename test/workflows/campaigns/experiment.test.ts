import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  act,
  campaignIn,
  createCampaign,
  deleteContacts,
  insertContacts,
} from '../../support/projects/campaigns.ts';
import { trackedMail } from '../../support/projects/engagement.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Experiments, with a real worker: groups, decision, and what the rest gets. */

const engine = await useEngine();
const { db } = engine.api;

beforeEach(() => deleteContacts(engine));
afterEach(() => engine.startWorker().catch(() => undefined));

const arms = [
  { id: 'a', subject: 'First' },
  { id: 'b', subject: 'Second', fromName: 'B team' },
];
const settings = {
  arms,
  testPercent: 50,
  decideAfterSeconds: 1,
  metric: 'event',
  eventName: 'ordered',
  minPerArm: 1,
};

async function tested(given: object = {}, campaign: object = {}): Promise<string> {
  return createCampaign(engine, { experiment: { ...settings, ...given }, ...campaign });
}

async function experimentOf(id: string) {
  const { status, body } = await engine.call('GET', `/campaigns/${id}/experiment`);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.data;
}

async function inState(id: string, state: string) {
  return waitFor(`experiment ${state}`, async () => {
    const experiment = await experimentOf(id);
    return experiment.state === state ? experiment : null;
  });
}

interface Mail {
  id: string;
  email: string;
  arm: string | null;
  subject: string;
  fromName: string | null;
  status: string;
  error: string | null;
}

async function mailsOf(id: string): Promise<Mail[]> {
  const { rows } = await sql<Mail>`
    select id, to_email as email, arm, subject, from_name as "fromName", status, error from email
      where campaign_id = ${id} order by id`.execute(db);
  return rows;
}

async function statsOf(id: string) {
  const stats = (await engine.call('GET', `/campaigns/${id}/stats`)).body.data;
  const sum = (counts: Record<string, number>) =>
    Object.values(counts).reduce((one, other) => one + other, 0);
  expect(sum(stats.outcomes)).toBe(stats.totalRecipients);
  expect(sum(stats.reasons)).toBe(stats.totalRecipients - stats.outcomes.sent);
  return stats;
}

/** Waits until the whole test group has its mail. */
async function testSent(id: string): Promise<void> {
  await waitFor('the test', async () => (await experimentOf(id)).decideAt);
}

const order = (email: string) =>
  engine.call('POST', '/v1/track', { email, event: 'ordered', data: {} });

async function decide(id: string, arm: string) {
  return engine.call('POST', `/campaigns/${id}/experiment/decide`, { arm });
}

describe('an experiment', { timeout: 60_000 }, () => {
  it('gives each of 200 contacts the mail of one arm when the test is for all', async () => {
    await insertContacts(engine, 200);
    const id = await tested({ testPercent: 100 });
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    const mails = await mailsOf(id);
    expect(mails).toHaveLength(200);
    const ofB = mails.filter(({ arm }) => arm === 'b').length;
    // Four standard deviations of a fair draw.
    expect(Math.abs(ofB - 100)).toBeLessThan(4 * Math.sqrt(50));
    for (const { arm, subject, fromName } of mails) {
      expect(subject).toBe(arm === 'b' ? 'Second' : 'First');
      expect(fromName === 'B team').toBe(arm === 'b');
    }
    const experiment = await experimentOf(id);
    expect(experiment).toMatchObject({
      state: 'DECIDED',
      testRecipients: 200,
      restRecipients: 0,
      decision: { arm: 'a', by: 'tie', actor: null },
    });
  });

  it('is decided by the clicks of people, not by those of scanners, and shows conversions', async () => {
    await insertContacts(engine, 40);
    const goal = { eventName: 'ordered', valueField: 'total', windowDays: 1, touch: 'sent' };
    const id = await tested(
      { metric: 'human_click', eventName: null, decideAfterSeconds: 14 },
      { goal },
    );
    await act(engine, id, 'send');
    await testSent(id);
    const test = (await mailsOf(id)).filter(({ arm }) => arm !== null);
    // A click right after the delivery is that of a machine.
    await sleep(2_500);
    for (const { id: emailId, arm } of test) {
      const mail = trackedMail(engine.api, emailId, ['https://shop.example/']);
      await mail.click(arm === 'a' ? { agent: 'curl/8.5.0' } : {});
    }
    const { email } = test.find(({ arm }) => arm === 'b')!;
    await engine.call('POST', '/v1/track', { email, event: 'ordered', data: { total: 12.5 } });
    const { decision, arms: shownArms } = await inState(id, 'DECIDED');
    expect(decision).toMatchObject({ arm: 'b', by: 'metric' });
    const ofArm = (arm: string) => test.filter((mail) => mail.arm === arm).length;
    expect(decision.numbers).toMatchObject([
      { id: 'a', sent: ofArm('a'), hits: 0, rate: 0 },
      { id: 'b', sent: ofArm('b'), hits: ofArm('b'), rate: 100 },
    ]);
    expect(shownArms).toMatchObject([
      { id: 'a', humanClicked: 0, converted: 0, value: 0 },
      { id: 'b', humanClicked: ofArm('b'), converted: 1, value: 12.5 },
    ]);
    await campaignIn(engine, id, 'SENT');
    const rest = (await mailsOf(id)).filter(({ arm }) => arm === null);
    expect(new Set(rest.map(({ subject }) => subject))).toEqual(new Set(['Second']));
  });

  it('sends the rest the arm that more contacts answered, once, and keeps the numbers', async () => {
    await insertContacts(engine, 120);
    const id = await tested({ decideAfterSeconds: 3 });
    await act(engine, id, 'send');
    await testSent(id);
    const test = (await mailsOf(id)).filter(({ arm }) => arm !== null);
    const rest = 120 - test.length;
    expect((await statsOf(id)).reasons).toEqual({ experiment: rest });
    const waiting = (await mailsOf(id)).find(({ arm }) => arm === null)!;
    expect((await engine.call('GET', `/emails/${waiting.id}`)).body).toMatchObject({
      outcome: 'pending',
      reasonCode: 'experiment',
      status: 'PENDING',
    });
    const listed = await engine.call('GET', `/campaigns/${id}/recipients?reason=experiment`);
    expect(listed.body.total).toBe(rest);
    const ofB = test.filter(({ arm }) => arm === 'b');
    await order(ofB[0]!.email);
    const decided = await inState(id, 'DECIDED');
    expect(decided.decision).toMatchObject({ arm: 'b', by: 'metric', actor: null });
    await campaignIn(engine, id, 'SENT');
    const mails = await mailsOf(id);
    for (const { arm, subject, status } of mails) {
      expect(status).toBe('DELIVERED');
      expect(subject).toBe(arm === 'a' ? 'First' : 'Second');
    }
    const first = `/campaigns/${id}/recipients?arm=`;
    const ofWinner = await engine.call('GET', `${first}b&limit=100`);
    expect(ofWinner.body.total).toBe(ofB.length + rest);
    expect(ofWinner.body.data.filter((item: { inTest: boolean }) => item.inTest)).toHaveLength(
      ofWinner.body.data.length - rest,
    );
    expect((await engine.call('GET', `${first}none`)).body).toMatchObject({ data: [], total: 0 });
    expect((await engine.call('GET', `/emails/${waiting.id}`)).body.arm).toBe('b');
    await order(test.find(({ arm }) => arm === 'a')!.email);
    const later = await experimentOf(id);
    expect(later.arms[0]).toMatchObject({ id: 'a', hits: 1 });
    expect(later.decision).toEqual(decided.decision);
    expect(later.decision.numbers[0]).toMatchObject({ id: 'a', hits: 0 });
    const late = await decide(id, 'a');
    expect([late.status, late.body.error?.code]).toEqual([409, 'EXPERIMENT_DECIDED']);
    expect(late.body.error.details).toMatchObject({ arm: 'b' });
  });

  it('waits for a manual decision if asked to, and takes one of 10 parallel ones', async () => {
    await insertContacts(engine, 60);
    const id = await tested({ minPerArm: 100, onTie: 'manual' });
    await act(engine, id, 'send');
    await inState(id, 'WAITING');
    const unknown = await decide(id, 'c');
    expect([unknown.status, unknown.body.error.errors[0].field]).toEqual([422, 'arm']);
    const answers = await Promise.all(Array.from({ length: 10 }, () => decide(id, 'b')));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    await campaignIn(engine, id, 'SENT');
    expect((await experimentOf(id)).decision).toMatchObject({
      arm: 'b',
      by: 'manual',
      actor: { type: 'key' },
    });
    const mails = await mailsOf(id);
    for (const { arm, subject } of mails) expect(subject).toBe(arm === 'a' ? 'First' : 'Second');
  });

  it('is decided for the first arm when too few mails were sent', async () => {
    await insertContacts(engine, 30);
    const id = await tested({ minPerArm: 100 });
    await act(engine, id, 'send');
    await campaignIn(engine, id, 'SENT');
    expect((await experimentOf(id)).decision).toMatchObject({ arm: 'a', by: 'too_few' });
  });

  it('is decided after a pause, at once, and keeps its content until then', async () => {
    await insertContacts(engine, 40);
    const id = await tested({ decideAfterSeconds: 2 });
    await act(engine, id, 'send');
    await testSent(id);
    await act(engine, id, 'pause');
    const edit = await engine.call('PUT', `/campaigns/${id}`, { body: 'Other' });
    expect([edit.status, edit.body.error?.code]).toEqual([400, 'CAMPAIGN_NOT_EDITABLE']);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await experimentOf(id)).state).toBe('TESTING');
    expect((await statsOf(id)).reasons).toHaveProperty('campaign_paused');
    await act(engine, id, 'resume');
    await campaignIn(engine, id, 'SENT');
    expect((await experimentOf(id)).decision).toMatchObject({ by: 'tie' });
  });

  it('ends with its campaign: the rest is cancelled, in no arm', async () => {
    await insertContacts(engine, 40);
    const id = await tested({ decideAfterSeconds: 600 });
    await act(engine, id, 'send');
    await testSent(id);
    await act(engine, id, 'cancel');
    await waitFor('the end', async () => {
      const mails = await mailsOf(id);
      return mails.every(({ status }) => status !== 'PENDING') || null;
    });
    const mails = await mailsOf(id);
    for (const { arm, error } of mails) expect(error).toBe(arm ? null : 'campaign_cancelled');
    expect((await experimentOf(id)).state).toBe('CANCELLED');
    const late = await decide(id, 'a');
    expect([late.status, late.body.error?.code]).toEqual([400, 'EXPERIMENT_NOT_RUNNING']);
    expect(late.body.error.details).toEqual({ state: 'CANCELLED' });
    await statsOf(id);
  });

  it('is decided within a sweep when its run was lost', async () => {
    await insertContacts(engine, 40);
    const id = await tested({ decideAfterSeconds: 1_000 });
    await act(engine, id, 'send');
    await testSent(id);
    await engine.temporal.client.workflow.getHandle(`campaign-${id}`).terminate();
    const later = () =>
      sql`
      update campaign set reconciled_at = now() - interval '3 minutes' where id = ${id}`.execute(
        db,
      );
    await later();
    await sweepNow(engine);
    expect((await experimentOf(id)).state).toBe('TESTING');
    await sql`update experiment set decide_at = now() - interval '1 minute'
      where campaign_id = ${id}`.execute(db);
    await later();
    await sweepNow(engine);
    await campaignIn(engine, id, 'SENT');
    expect((await experimentOf(id)).state).toBe('DECIDED');
  });

  it('is decided a day and its time after the start, although mail of the test still waits', async () => {
    await insertContacts(engine, 40);
    await engine.stopWorker();
    const id = await tested({ decideAfterSeconds: 60 });
    await act(engine, id, 'send');
    await sql`update experiment set started_at = now() - interval '25 hours'
      where campaign_id = ${id}`.execute(db);
    await engine.startWorker();
    await campaignIn(engine, id, 'SENT');
    const { decideAt, decision } = await experimentOf(id);
    expect(Date.parse(decideAt)).toBeLessThan(Date.now() - 23 * 60_000);
    expect(decision.by).not.toBe('manual');
  });
});
