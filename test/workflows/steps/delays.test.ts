import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { wallTimeAt, weekdays } from '../../../domain/time/zones.ts';
import { useEngine } from '../../support/engine.ts';
import { askForJob, endOfExecutionJob } from '../../support/histories/execution-jobs.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { errorFields } from '../../support/projects/workflow-api.ts';

/** Delays until a time of day and until a date. */

const engine = await useEngine();
const exit = { type: 'EXIT', name: 'After', config: { reason: 'after' } };

async function begin(config: object, data: object = {}) {
  const workflow = await createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [{ type: 'DELAY', name: 'Delay', config: { ...config } }, exit],
  });
  const contactId = await createContact(engine, newAddress(), { data: { ...data } });
  const id = await startByHand(engine, workflow.id, contactId);
  const path = `/workflows/${workflow.id}`;
  const until = (status: string) => executionIn(engine, workflow.id, id, status, 20_000);
  return { workflow, path, id, contactId, until };
}

/**
 * Returns the local time of a zone as `HH:MM:SS`, `ahead` milliseconds from now, and the day of
 * the week.
 */
function clock(zone: string, ahead: number) {
  const { hour, minute, second, weekday } = wallTimeAt(zone, new Date(Date.now() + ahead));
  const text = [hour, minute, second].map((part) => String(part).padStart(2, '0')).join(':');
  return { text, day: weekdays[weekday - 1]! };
}

const second = 1_000;
const day = 86_400_000;

describe('a DELAY until a time of day', () => {
  it('goes on at that time', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'DELAY', name: 'Delay', config: { amount: 1, unit: 'days' } }, exit],
    });
    const contactId = await createContact(engine, newAddress());
    // As late as possible, because the step must begin before.
    const { text } = clock('Asia/Kathmandu', 8 * second);
    await engine.call('PATCH', `/workflows/${workflow.id}/steps/${workflow.steps['Delay']}`, {
      config: { until: { time: text, timeZone: 'Asia/Kathmandu' } },
    });
    const id = await startByHand(engine, workflow.id, contactId);
    const done = await executionIn(engine, workflow.id, id, 'EXITED', 25_000);
    const [, delay, next] = done.stepExecutions;
    expect(delay.output).toEqual({
      untilTime: text,
      untilDays: weekdays,
      timeZone: 'Asia/Kathmandu',
      resumeAt: expect.stringMatching(/:\d\d\.000Z$/),
    });
    expect(next.startedAt >= delay.output.resumeAt).toBe(true);
    expect(Date.parse(delay.output.resumeAt) - Date.parse(delay.startedAt)).toBeLessThan(
      8 * second,
    );
  });

  it('goes by the zone of the project for a contact without one', async () => {
    const zone = 'Pacific/Chatham';
    await engine.call('PUT', '/send-policy', { timeZone: zone });
    const { until } = await begin({ until: { time: '09:00' } }, { timeZone: 'nonsense' });
    const [, delay] = (await until('WAITING')).stepExecutions;
    expect(delay.output).toMatchObject({ timeZone: zone });
    expect(wallTimeAt(zone, new Date(delay.output.resumeAt))).toMatchObject({ hour: 9, minute: 0 });
  });

  it('waits until tomorrow when it has passed, or for its day, in the zone of the contact', async () => {
    const zone = 'Australia/Lord_Howe';
    const passed = clock(zone, -60 * second);
    const tomorrow = await begin({ until: { time: passed.text } }, { timeZone: zone });
    const [, one] = (await tomorrow.until('WAITING')).stepExecutions;
    expect(one.output.timeZone).toBe(zone);
    expect(Date.parse(one.output.resumeAt) - Date.parse(one.startedAt)).toBeGreaterThan(
      day - 2 * 3600 * second,
    );

    const { text, day: name } = clock(zone, 2 * day + 3600 * second);
    const later = await begin({ until: { time: text, days: [name] } }, { timeZone: zone });
    const waiting = await later.until('WAITING');
    const [, two, next] = waiting.stepExecutions;
    const ahead = Date.parse(two.output.resumeAt) - Date.parse(two.startedAt);
    expect(Math.round(ahead / day)).toBe(2);
    expect(next).toMatchObject({ status: 'SCHEDULED', scheduledFor: two.output.resumeAt });
    expect(two.output.untilDays).toEqual([name]);
  });
});

describe('a DELAY until a date', () => {
  const config = { untilField: 'contact.data.d', offset: { amount: -1, unit: 'hours' } };
  const inAnHour = (more: number) => new Date(Date.now() + 3600 * second + more).toISOString();

  it('goes on at the date that was read as it began', async () => {
    const due = inAnHour(4 * second);
    const { until, contactId } = await begin(config, { d: due });
    const waiting = await until('WAITING');
    const resumeAt = new Date(Date.parse(due) - 3600 * second).toISOString();
    expect(waiting.stepExecutions[1].output).toEqual({
      untilField: 'contact.data.d',
      fieldValue: due,
      resumeAt,
      past: false,
    });
    await engine.call('PATCH', `/contacts/${contactId}`, { data: { d: inAnHour(day) } });
    const done = await until('EXITED');
    expect(done.exitReason).toBe('after');
    expect(done.stepExecutions[1].output.resumeAt).toBe(resumeAt);
  });

  it.each([
    ['2026-01-01', 'date_past'],
    ['soon', 'date_missing'],
    [null, 'date_missing'],
  ])('of %s goes on at once, or ends the execution as %s', async (due, reason) => {
    const goesOn = await (await begin(config, { d: due })).until('EXITED');
    expect(goesOn.exitReason).toBe('after');
    expect(goesOn.stepExecutions[1]).toMatchObject({
      status: 'COMPLETED',
      output: { fieldValue: due, resumeAt: null, past: true },
    });
    const ended = await (await begin({ ...config, ifPast: 'exit' }, { d: due })).until('EXITED');
    expect(ended.exitReason).toBe(reason);
    expect(ended.stepExecutions).toHaveLength(2);
    expect(ended.stepExecutions[1]).toMatchObject({ status: 'COMPLETED' });
  });

  it('of the last step completes the execution', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'DELAY', name: 'Delay', config }],
    });
    const id = await startByHand(engine, workflow.id, await createContact(engine, newAddress()));
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED', 20_000);
    expect(done.currentStepId).toBeNull();
  });

  it('is moved like any other', async () => {
    const { path, id, until } = await begin(config, { d: inAnHour(day) });
    await until('WAITING');
    const moved = await engine.call('PATCH', `${path}/executions/${id}/wait`, {
      shiftBySeconds: -86_400,
    });
    expect(moved.status).toBe(200);
    expect((await until('EXITED')).exitReason).toBe('after');
  });

  it.each([
    [{ ifPast: 'exit' }, 'date_past'],
    [{}, 'after'],
  ])('is read anew by a migration: %j', async (more, exitReason) => {
    const { workflow, path, until } = await begin({ amount: 2, unit: 'days' }, { d: '2026-01-01' });
    await until('WAITING');
    await engine.call('PATCH', `${path}/steps/${workflow.steps['Delay']}`, {
      config: { untilField: 'data.d', ...more },
    });
    const jobId = await askForJob(engine, workflow.id, 'migrate', {});
    const job = await endOfExecutionJob(engine, workflow.id, jobId, 60_000);
    expect(job.result).toMatchObject({ migrated: 1 });
    const done = await until('EXITED');
    expect(done.exitReason).toBe(exitReason);
    expect(done.stepExecutions[1]).toMatchObject({
      status: 'COMPLETED',
      output: { untilField: 'data.d', past: true, resumeAt: null },
    });
  });
});

describe('the config of a DELAY', () => {
  it('has one of three forms', async () => {
    const { workflow, path } = await begin({ amount: 1, unit: 'days' });
    const change = (config: object) =>
      engine.call('PATCH', `${path}/steps/${workflow.steps['Delay']}`, { config });
    const refused = async (config: object) => errorFields((await change(config)).body);
    expect(await refused({ amount: 1, unit: 'days', until: { time: '09:00' } })).toEqual([
      'config.until not_allowed',
    ]);
    expect(await refused({})).toContain('config.amount invalid_type');
    expect(await refused({ untilField: 'contact.email' })).toEqual([
      'config.untilField unsupported_field',
    ]);
    expect(await refused({ untilField: 'nobodyhasthis' })).toEqual([
      'config.untilField unsupported_field',
    ]);
    const { body } = await change({ until: { time: '09:00', days: ['sun', 'mon', 'sun'] } });
    expect(body.config).toEqual({ until: { time: '09:00', days: ['mon', 'sun'] } });
  });

  it('uses the field of its date', async () => {
    const field = `due${Date.now()}`;
    const { workflow } = await begin({ untilField: `data.${field}` });
    const { body } = await engine.call('GET', `/contacts/fields/${field}/usage`);
    expect(body).toMatchObject({ usedInWorkflows: [{ id: workflow.id }], canDelete: false });
  });
});
