import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  beginExecution,
  createContact,
  createTemplate,
  createWorkflow,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Actions on live executions: pause, resume, skip, move a wait. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const thirtyDays = { type: 'DELAY', name: 'Delay', config: { amount: 30, unit: 'days' } };
const noted = (name: string) => ({
  type: 'UPDATE_CONTACT',
  name,
  config: { updates: { [name]: true } },
});
const waiting = (eventName: string, timeout?: number) => ({
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName, ...(timeout && { timeout }) },
});
const bothWays = [
  ['TRIGGER', 'Wait'],
  ['Wait', 'came', 'event'],
  ['Wait', 'missed', 'timeout'],
] as [string, string, string?][];

const inAMoment = () => new Date(Date.now() + 2_000).toISOString();
const longAgo = '2020-01-01T00:00:00Z';

interface StepShown {
  step: { name: string };
  status: string;
}

interface Entry {
  stepName: string | null;
  from: string | null;
  to: string | null;
  detail: { moved?: boolean; paused?: boolean } | null;
}

function statusesOf({ stepExecutions }: { stepExecutions: StepShown[] }) {
  return stepExecutions.map(({ step, status }) => `${step.name} ${status}`);
}

async function track(email: string, event: string, data = {}) {
  const { status } = await engine.call('POST', '/v1/track', { email, event, data });
  expect(status).toBe(200);
}

async function entriesOf(path: string) {
  const { body } = await engine.call('GET', `${path}/history`);
  return body.entries as Entry[];
}

/** Waits until the next step of an execution is held back. */
function heldAt(path: string, name: string) {
  return waitFor(`an execution held before ${name}`, async () => {
    const { body } = await engine.call('GET', path);
    const scheduled = body.stepExecutions.find((one: StepShown) => one.status === 'SCHEDULED');
    return body.status === 'RUNNING' && scheduled?.step.name === name ? body : null;
  });
}

describe('PATCH …/wait', () => {
  it('ends a delay of 30 days in two seconds', async () => {
    const { path, until } = await beginExecution(engine, { steps: [thirtyDays, noted('after')] });
    const before = await until('WAITING');
    const at = inAMoment();
    const began = Date.now();
    const moved = await engine.call('PATCH', `${path}/wait`, { until: at });
    expect(moved.status).toBe(200);
    expect(moved.body.stepExecutions.at(-1)).toMatchObject({
      status: 'SCHEDULED',
      scheduledFor: at,
    });
    expect(moved.body.stepExecutions.at(-2).output.resumeAt).toBe(at);
    const done = await until('COMPLETED');
    expect(Date.now() - began).toBeGreaterThan(1_500);
    expect(Date.now() - began).toBeLessThan(4_000);
    expect(statusesOf(done).slice(1)).toEqual(['Delay COMPLETED', 'after COMPLETED']);
    const entry = (await entriesOf(path)).find(({ detail }) => detail?.moved);
    expect(entry).toMatchObject({
      stepName: 'Delay',
      from: before.stepExecutions[2].scheduledFor,
      to: at,
      detail: { moved: true },
    });
  });

  it('ends at once what it moves into the past: a wait by its time-out', async () => {
    const { path, until, email } = await beginExecution(engine, {
      steps: [waiting('paid', 86_400), noted('came'), noted('missed')],
      ways: bothWays,
    });
    const before = await until('WAITING');
    const later = await engine.call('PATCH', `${path}/wait`, { shiftBySeconds: 3600 });
    const { executeAfter } = before.stepExecutions[1];
    expect(later.body.stepExecutions[1].executeAfter).toBe(
      new Date(Date.parse(executeAfter) + 3_600_000).toISOString(),
    );
    expect((await engine.call('PATCH', `${path}/wait`, { until: longAgo })).status).toBe(200);
    const done = await until('COMPLETED');
    expect(done.stepExecutions[1].output).toMatchObject({ waitOutcome: 'TIMEOUT' });
    expect(statusesOf(done).at(-1)).toBe('missed COMPLETED');
    await track(email, 'paid');
  });

  it('takes the time-out of a wait away, and its event still ends it', async () => {
    const { path, until, email } = await beginExecution(engine, {
      steps: [waiting('paid', 86_400), noted('came'), noted('missed')],
      ways: bothWays,
    });
    await until('WAITING');
    const forever = await engine.call('PATCH', `${path}/wait`, { forever: true });
    expect(forever.body.stepExecutions[1].executeAfter).toBeNull();
    const shifted = await engine.call('PATCH', `${path}/wait`, { shiftBySeconds: 5 });
    expect(shifted.body.error.errors).toMatchObject([
      { field: 'shiftBySeconds', code: 'not_allowed' },
    ]);
    await track(email, 'paid', { amount: 5 });
    const done = await until('COMPLETED');
    expect(done.context).toMatchObject({ amount: 5 });
    expect(statusesOf(done).at(-1)).toBe('came COMPLETED');
    expect(refusal(await engine.call('PATCH', `${path}/wait`, { until: longAgo }))).toEqual([
      409,
      'EXECUTION_NOT_WAITING',
    ]);
  });

  it('refuses what it cannot do', async () => {
    const { path, until } = await beginExecution(engine, { steps: [thirtyDays, noted('after')] });
    await until('WAITING');
    for (const body of [
      { forever: true },
      { until: longAgo, shiftBySeconds: 5 },
      {},
      { shiftBySeconds: 400_000_000 },
      { until: 'tomorrow' },
      { until: '9999-01-01T00:00:00Z' },
    ]) {
      expect([body, (await engine.call('PATCH', `${path}/wait`, body)).status]).toEqual([
        body,
        422,
      ]);
    }
    expect((await engine.call('GET', path)).body.status).toBe('WAITING');
  });

  it('moves a delay that is the last step, and its execution completes', async () => {
    const { path, until } = await beginExecution(engine, { steps: [thirtyDays] });
    await until('WAITING');
    const answer = await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    expect(answer.status).toBe(200);
    await until('COMPLETED');
  });
});

describe('a paused execution', () => {
  it('begins nothing when its delay is over, and goes on when it is resumed', async () => {
    const { path, until, contactId } = await beginExecution(engine, {
      steps: [thirtyDays, noted('after')],
    });
    await until('WAITING');
    const paused = await engine.call('POST', `${path}/pause`, { reason: 'Just a moment' });
    expect(paused.status).toBe(200);
    expect(paused.body).toMatchObject({ status: 'WAITING', pauseReason: 'Just a moment' });
    expect(paused.body.pausedAt).not.toBeNull();
    expect(refusal(await engine.call('POST', `${path}/pause`))).toEqual([409, 'EXECUTION_PAUSED']);
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await heldAt(path, 'after');
    expect(refusal(await engine.call('PATCH', `${path}/wait`, { until: longAgo }))).toEqual([
      409,
      'EXECUTION_NOT_WAITING',
    ]);
    const resumed = await engine.call('POST', `${path}/resume`);
    expect(resumed.body).toMatchObject({ pausedAt: null, pauseReason: null });
    await until('COMPLETED');
    const { body: contact } = await engine.call('GET', `/contacts/${contactId}`);
    expect(contact.data).toMatchObject({ after: true });
    expect(refusal(await engine.call('POST', `${path}/resume`))).toEqual([
      409,
      'EXECUTION_NOT_PAUSED',
    ]);
    expect(refusal(await engine.call('POST', `${path}/pause`))).toEqual([
      409,
      'EXECUTION_NOT_ACTIVE',
    ]);
    const acts = (await entriesOf(path)).flatMap(({ detail }) => detail?.paused ?? []);
    expect(acts).toEqual([true, false]);
  });

  it('keeps the outcome that came first', async () => {
    const { path, until, email } = await beginExecution(engine, {
      steps: [waiting('paid', 86_400), noted('came'), noted('missed')],
      ways: bothWays,
    });
    await until('WAITING');
    await engine.call('POST', `${path}/pause`);
    await track(email, 'paid');
    const held = await heldAt(path, 'came');
    expect(held.stepExecutions[1].output).toMatchObject({ waitOutcome: 'EVENT' });
    await engine.call('POST', `${path}/resume`);
    expect(statusesOf(await until('COMPLETED')).at(-1)).toBe('came COMPLETED');
  });

  it('counts for a wait only events from when it is resumed on', async () => {
    const { path, until, email } = await beginExecution(engine, {
      steps: [thirtyDays, waiting('paid')],
    });
    await until('WAITING');
    await engine.call('POST', `${path}/pause`);
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await heldAt(path, 'Wait');
    await track(email, 'paid');
    await engine.call('POST', `${path}/resume`);
    const again = await until('WAITING');
    expect(statusesOf(again).at(-1)).toBe('Wait WAITING');
    await track(email, 'paid');
    await until('COMPLETED');
  });

  it('ends a step at work, also with its further attempts, and begins no other', async () => {
    const hook = `/${randomUUID()}`;
    receiver.answer(hook, { status: 500 }, { status: 200 });
    const { path, until } = await beginExecution(engine, {
      steps: [
        { type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${hook}` } },
        thirtyDays,
      ],
    });
    await waitFor('a first attempt', async () => {
      const { body } = await engine.call('GET', path);
      return body.stepExecutions[1]?.status === 'PENDING';
    });
    expect((await engine.call('POST', `${path}/pause`)).status).toBe(200);
    const held = await heldAt(path, 'Delay');
    expect(held.stepExecutions[1]).toMatchObject({
      status: 'COMPLETED',
      output: { attempts: 2, success: true },
    });
    await engine.call('POST', `${path}/resume`);
    await until('WAITING');
  });

  it('costs nothing in Temporal while it is held: no timer, no activity', async () => {
    const { path, until, id } = await beginExecution(engine, {
      steps: [thirtyDays, noted('after')],
    });
    await until('WAITING');
    await engine.call('POST', `${path}/pause`);
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await heldAt(path, 'after');
    const handle = engine.temporal.client.workflow.getHandle(`execution-${id}`);
    const run = await waitFor('a run at rest', async () => {
      const described = await handle.describe();
      return described.raw.pendingWorkflowTask ? null : described;
    });
    expect(run.raw.pendingActivities ?? []).toEqual([]);
    const { events = [] } = await handle.fetchHistory();
    const timers = events!.flatMap((event) => event.timerStartedEventAttributes?.timerId ?? []);
    const over = events!.flatMap(
      (event) =>
        event.timerFiredEventAttributes?.timerId ??
        event.timerCanceledEventAttributes?.timerId ??
        [],
    );
    expect(timers.toSorted()).toEqual(over.toSorted());
    await engine.call('POST', `${path}/resume`);
    await until('COMPLETED');
  });

  it('is ended by a cancel as always, and keeps pausedAt', async () => {
    const { path, until } = await beginExecution(engine, { steps: [thirtyDays, noted('after')] });
    await until('WAITING');
    await engine.call('POST', `${path}/pause`);
    const { body } = await engine.call('DELETE', path);
    expect(body).toMatchObject({ status: 'CANCELLED', exitReason: 'cancelled' });
    expect(body.pausedAt).not.toBeNull();
  });
});

describe('a paused workflow', () => {
  it(
    'holds all its executions, and each goes on once when it is released',
    { timeout: 120_000 },
    async () => {
      const templateId = await createTemplate(engine);
      const workflow = await createWorkflow(engine, {
        eventName: randomUUID(),
        steps: [
          { type: 'SEND_EMAIL', name: 'First', templateId },
          thirtyDays,
          { type: 'SEND_EMAIL', name: 'Second', templateId },
        ],
      });
      const path = `/workflows/${workflow.id}`;
      const start = async () => {
        const email = newAddress();
        return {
          email,
          id: await startByHand(engine, workflow.id, await createContact(engine, email)),
        };
      };
      const early = await Promise.all(Array.from({ length: 50 }, start));
      await waitFor(
        '50 that wait',
        async () => {
          const { body } = await engine.call('GET', `${path}/executions?status=WAITING`);
          return body.total === 50;
        },
        60_000,
      );
      const paused = await engine.call('PATCH', path, { paused: true });
      expect(paused.body.pausedAt).not.toBeNull();
      const late = await Promise.all(Array.from({ length: 10 }, start));
      const single = `${path}/executions/${early[0]!.id}`;
      expect((await engine.call('POST', `${single}/pause`)).status).toBe(200);
      for (const { id } of early) {
        await engine.call('PATCH', `${path}/executions/${id}/wait`, { until: longAgo });
      }
      await waitFor(
        '60 that are held',
        async () => {
          const { body } = await engine.call(
            'GET',
            `${path}/executions?status=RUNNING&pageSize=100`,
          );
          const { rows } = await heldRows(workflow.id);
          return body.total === 60 && rows === 60;
        },
        60_000,
      );
      const listed = await engine.call('GET', `${path}/executions?paused=true`);
      expect(listed.body.executions.map(({ id }: { id: string }) => id)).toEqual([early[0]!.id]);
      expect((await engine.call('GET', `${path}/executions?paused=false`)).body.total).toBe(59);
      const shown = await engine.call('GET', `${path}/executions/${early[1]!.id}`);
      expect(shown.body).toMatchObject({ pausedAt: null });
      expect(shown.body.workflow.pausedAt).toBe(paused.body.pausedAt);
      // Resumed alone, it is still held.
      await engine.call('POST', `${single}/resume`);
      await engine.call('POST', `${single}/pause`);
      await engine.stopWorker();
      await engine.startWorker();
      expect((await heldRows(workflow.id)).rows).toBe(60);
      const released = await engine.call('PATCH', path, { paused: false });
      expect(released.body.pausedAt).toBeNull();
      await waitFor(
        '49 that are over',
        async () => {
          const { body } = await engine.call('GET', `${path}/executions?status=COMPLETED`);
          return body.total === 49;
        },
        60_000,
      );
      expect((await heldRows(workflow.id)).rows).toBe(1);
      await engine.call('POST', `${single}/resume`);
      for (const { id } of late) {
        await waitFor('a late one in its delay', async () => {
          const answer = await engine.call('PATCH', `${path}/executions/${id}/wait`, {
            until: longAgo,
          });
          return answer.status === 200;
        });
      }
      for (const { email } of [...early, ...late]) {
        expect(await engine.mailsTo(email, 2, 60_000)).toHaveLength(2);
      }
    },
  );

  async function heldRows(workflowId: string) {
    const rows = await engine.api.db
      .selectFrom('execution')
      .select('id')
      .where('workflow_id', '=', workflowId)
      .where('held_at', 'is not', null)
      .execute();
    return { rows: rows.length };
  }
});

describe('POST …/skip', () => {
  it('goes on behind a webhook that has failed', async () => {
    const hook = `/${randomUUID()}`;
    receiver.answer(hook, { status: 404 });
    const { path, until } = await beginExecution(engine, {
      steps: [
        {
          type: 'WEBHOOK',
          name: 'Call',
          config: { url: `${receiver.url}${hook}`, onFailure: 'fail' },
        },
        noted('after'),
      ],
    });
    await until('FAILED');
    const skipped = await engine.call('POST', `${path}/skip`);
    expect([skipped.status, skipped.body.status]).toEqual([200, 'RUNNING']);
    expect(skipped.body.temporalRunId).not.toBeNull();
    const done = await until('COMPLETED');
    expect(statusesOf(done).slice(1)).toEqual(['Call SKIPPED', 'after COMPLETED']);
    expect(done.error).toBeNull();
    expect(refusal(await engine.call('POST', `${path}/skip`))).toEqual([
      409,
      'EXECUTION_NOT_SKIPPABLE',
    ]);
  });

  it('ends a delay at once, which becomes SKIPPED', async () => {
    const { path, until, id } = await beginExecution(engine, {
      steps: [thirtyDays, noted('after')],
    });
    await until('WAITING');
    expect((await engine.call('POST', `${path}/skip`)).status).toBe(200);
    const done = await until('COMPLETED');
    expect(statusesOf(done).slice(1)).toEqual(['Delay SKIPPED', 'after COMPLETED']);
    const handle = engine.temporal.client.workflow.getHandle(`execution-${id}`);
    expect(await handle.result()).toBe('COMPLETED');
  });

  it('takes the way of the branch', async () => {
    const { path, until } = await beginExecution(engine, {
      steps: [waiting('paid', 86_400), noted('came'), noted('missed')],
      ways: bothWays,
    });
    await until('WAITING');
    const unnamed = await engine.call('POST', `${path}/skip`);
    expect(unnamed.body.error.errors).toMatchObject([{ field: 'branch', code: 'required' }]);
    const unknown = await engine.call('POST', `${path}/skip`, { branch: 'yes' });
    expect(unknown.body.error.errors).toMatchObject([{ field: 'branch', code: 'not_allowed' }]);
    expect((await engine.call('POST', `${path}/skip`, { branch: 'event' })).status).toBe(200);
    const done = await until('COMPLETED');
    expect(statusesOf(done).slice(1)).toEqual(['Wait SKIPPED', 'came COMPLETED']);
  });

  it('completes an execution whose last step it skips', async () => {
    const { path, until, id } = await beginExecution(engine, { steps: [waiting('paid')] });
    await until('WAITING');
    const { body } = await engine.call('POST', `${path}/skip`);
    expect(body).toMatchObject({ status: 'COMPLETED', currentStepId: null });
    const handle = engine.temporal.client.workflow.getHandle(`execution-${id}`);
    expect(await handle.result()).toBe('COMPLETED');
  });

  it('skips the step before which a paused one is held', async () => {
    const { path, until } = await beginExecution(engine, {
      steps: [thirtyDays, noted('left out'), noted('after')],
    });
    await until('WAITING');
    await engine.call('POST', `${path}/pause`);
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await heldAt(path, 'left out');
    expect((await engine.call('POST', `${path}/skip`)).status).toBe(200);
    await heldAt(path, 'after');
    await engine.call('POST', `${path}/resume`);
    expect(statusesOf(await until('COMPLETED')).slice(1)).toEqual([
      'Delay COMPLETED',
      'left out SKIPPED',
      'after COMPLETED',
    ]);
  });

  it('refuses a step at work', async () => {
    const hook = `/${randomUUID()}`;
    receiver.answer(hook, { status: 500 }, { status: 500 }, { status: 200 });
    const { path, until } = await beginExecution(engine, {
      steps: [{ type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${hook}` } }],
    });
    await waitFor('a first attempt', async () => {
      const { body } = await engine.call('GET', path);
      return body.stepExecutions[1]?.status === 'PENDING';
    });
    expect(refusal(await engine.call('POST', `${path}/skip`))).toEqual([
      409,
      'EXECUTION_NOT_SKIPPABLE',
    ]);
    await until('COMPLETED', 20_000);
  });
});
