import { randomUUID } from 'node:crypto';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createTemplate,
  type ExecutionPlan,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { act, createCampaign } from '../../support/projects/campaigns.ts';
import { endOfJob } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Executions that an event ends, with their runs in Temporal. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const statusKey = defineSearchAttributeKey('CustomerWorkflowStatus', SearchAttributeType.KEYWORD);
const bought = { eventName: 'bought', reason: 'customer' };
const exit: StepPlan = { type: 'EXIT', name: 'End', config: { reason: 'the end' } };
const rest: StepPlan = { type: 'DELAY', name: 'Rest', config: { amount: 30, unit: 'days' } };

/** Starts an execution of these steps with the exit rule. Returns actions on its contact. */
async function begin(steps: StepPlan[], more: Partial<ExecutionPlan> = {}) {
  const execution = await beginExecution(engine, { exitRules: [bought], steps, ...more });
  return {
    ...execution,
    track: async (event: string, data: object = {}) =>
      engine.call('POST', '/v1/track', { email: execution.email, event, data }),
    /** Returns the result of each step after the trigger, in order. */
    async steps(): Promise<{ name: string; status: string; error: string | null }[]> {
      const { body } = await engine.call('GET', execution.path);
      return body.stepExecutions
        .slice(1)
        .map(
          ({
            step,
            status,
            error,
          }: {
            step: { name: string };
            status: string;
            error: string | null;
          }) => ({
            name: step.name,
            status,
            error,
          }),
        );
    },
    /** Returns the end of the run in Temporal: its status and its result. */
    async runEnd() {
      const run = engine.temporal.client.workflow.getHandle(executionRunId(execution.id));
      const closed = await waitFor('the end of the run', async () => {
        const described = await run.describe();
        return described.status.name === 'RUNNING' ? null : described;
      });
      return [closed.status.name, await run.result(), closed.typedSearchAttributes.get(statusKey)];
    },
  };
}

const exited = ['COMPLETED', 'EXITED', 'EXITED'];

describe('an event that meets an exit rule ends', () => {
  it('an execution in a delay, and its run', async () => {
    const { until, track, steps, runEnd } = await begin([rest, exit]);
    await until('WAITING');
    await track('bought');
    expect(await until('EXITED')).toMatchObject({ exitReason: 'customer', error: null });
    expect(await runEnd()).toEqual(exited);
    expect(await steps()).toEqual([
      { name: 'Rest', status: 'COMPLETED', error: null },
      { name: 'End', status: 'SKIPPED', error: null },
    ]);
  });

  it('one that waits for that very event', async () => {
    const wait = { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'bought' } };
    const { id, until, track, steps, runEnd } = await begin([wait, exit]);
    await until('WAITING');
    await track('bought');
    expect(await until('EXITED')).toMatchObject({ exitReason: 'customer', context: {} });
    expect(await runEnd()).toEqual(exited);
    expect(await steps()).toEqual([{ name: 'Wait', status: 'SKIPPED', error: null }]);
    const waits = await engine.api.db
      .selectFrom('wait')
      .select('event_name')
      .where('execution_id', '=', id)
      .execute();
    expect(waits).toEqual([]);
  });

  it('none whose conditions it does not meet', async () => {
    const where = [{ field: 'event.amount', operator: 'greaterThan', value: 10 }];
    const { until, track } = await begin([rest, exit], { exitRules: [{ ...bought, where }] });
    await until('WAITING');
    await track('bought', { amount: 5 });
    await until('WAITING');
    await track('bought', { amount: 20 });
    expect(await until('EXITED')).toMatchObject({ exitReason: 'customer' });
  });
});

describe('a webhook that is at work', () => {
  /** Starts an execution whose receiver waits for the returned `answer`. */
  async function calling(status: number, behind: StepPlan[] = [exit], config: object = {}) {
    const path = `/${randomUUID()}`;
    let answer = () => {};
    receiver.answer(path, { status, until: new Promise((resolve) => (answer = resolve)) });
    const hook = {
      type: 'WEBHOOK',
      name: 'Call',
      config: { url: `${receiver.url}${path}`, ...config },
    };
    const execution = await begin([hook, ...behind]);
    await waitFor('the request', () => receiver.requests(path).length === 1);
    return { ...execution, requests: () => receiver.requests(path), path, answer: () => answer() };
  }

  it.each([
    ['with a step behind it', [exit]],
    ['with a delay behind it', [rest, exit]],
    ['that is the last step', []],
  ])('(%s) finishes, then the execution ends', async (_, behind) => {
    const { until, track, steps, runEnd, answer } = await calling(200, behind);
    await track('bought');
    await until('RUNNING');
    answer();
    expect(await until('EXITED')).toMatchObject({ exitReason: 'customer', error: null });
    expect(await runEnd()).toEqual(exited);
    expect(await steps()).toEqual([{ name: 'Call', status: 'COMPLETED', error: null }]);
  });

  it('and fails leaves an execution that is EXITED', async () => {
    const { until, track, steps, runEnd, answer } = await calling(404, [exit], {
      onFailure: 'fail',
    });
    await track('bought');
    answer();
    expect(await until('EXITED')).toMatchObject({ exitReason: 'customer', error: null });
    expect(await runEnd()).toEqual(exited);
    expect(await steps()).toEqual([
      { name: 'Call', status: 'FAILED', error: 'The receiver answered 404.' },
    ]);
  });

  it('is at work until its last attempt', async () => {
    const { until, track, steps, answer, requests, path, ...execution } = await calling(503);
    answer();
    await waitFor('the pause', async () => (await steps())[0]?.status === 'PENDING');
    receiver.answer(path, { status: 200 });
    await track('bought');
    await until('RUNNING');
    await until('EXITED');
    expect(requests()).toHaveLength(2);
    expect(await steps()).toEqual([{ name: 'Call', status: 'COMPLETED', error: null }]);
    expect(await execution.runEnd()).toEqual(exited);
  });
});

describe('a step whose own event meets an exit rule', () => {
  it.each([
    ['with a step behind it', [exit]],
    ['with a delay behind it', [rest, exit]],
    ['that is the last step', []],
  ])('(%s) completes, then the execution ends', async (_, behind) => {
    const leave = {
      type: 'UPDATE_CONTACT',
      name: 'Leave',
      config: { subscriptionAction: 'unsubscribe', updates: { left: true } },
    };
    const where = [
      { field: 'event.source', operator: 'equals', value: 'workflow' },
      { field: 'contact.data.left', operator: 'equals', value: true },
    ];
    const rule = { eventName: 'contact.unsubscribed', where, reason: 'left' };
    const { until, steps, runEnd, contactId } = await begin([leave, ...behind], {
      exitRules: [rule],
    });
    expect(await until('EXITED')).toMatchObject({ exitReason: 'left' });
    expect(await runEnd()).toEqual(exited);
    expect(await steps()).toEqual([{ name: 'Leave', status: 'COMPLETED', error: null }]);
    const { body } = await engine.call('GET', `/contacts/${contactId}`);
    expect(body).toMatchObject({ subscribed: false, data: { left: true } });
  });
});

describe('an exit rule sees', () => {
  it('what a bulk action does', async () => {
    const exitRules = [{ eventName: 'contact.unsubscribed', reason: 'left' }];
    const executions = await Promise.all([1, 2, 3].map(() => begin([rest], { exitRules })));
    for (const { until } of executions) await until('WAITING');
    const contactIds = executions.map(({ contactId }) => contactId);
    const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', { contactIds });
    await endOfJob(engine, body.jobId);
    for (const { until } of executions) await until('EXITED');
  });

  it.each(['email.sent', 'email.delivery'])('%s of its own mail', async (eventName) => {
    const templateId = await createTemplate(engine);
    const { until } = await begin([{ type: 'SEND_EMAIL', name: 'Mail', templateId }, rest], {
      exitRules: [{ eventName, reason: 'mailed' }],
    });
    expect(await until('EXITED')).toMatchObject({ exitReason: 'mailed' });
  });

  it.each(['email.sent', 'email.delivery'])('%s of a campaign', async (eventName) => {
    const { until, contactId } = await begin([rest], {
      exitRules: [{ eventName, reason: 'mailed' }],
    });
    await until('WAITING');
    await act(engine, await createCampaign(engine), 'send');
    expect(await until('EXITED')).toMatchObject({ exitReason: 'mailed' });
    const stored = await engine.api.db
      .selectFrom('event')
      .select('name')
      .where('contact_id', '=', contactId)
      .where('name', '=', eventName)
      .execute();
    expect(stored).toEqual([{ name: eventName }]);
  });
});

describe('a simulation and an execution', () => {
  it('end by the same rule', async () => {
    const exitRules = [
      {
        eventName: 'bought',
        where: [{ field: 'event.amount', operator: 'greaterThan', value: 10 }],
        reason: 'large',
      },
      {
        eventName: 'bought',
        where: [{ field: 'contact.data.plan', operator: 'equals', value: 'pro' }],
        reason: 'pro',
      },
    ];
    for (const [plan, data] of [
      ['free', { amount: 20 }],
      ['pro', { amount: 5 }],
      ['pro', { amount: 50 }],
      ['free', { amount: 5 }],
    ] as const) {
      const contact = { data: { plan } };
      const { workflow, until, track, email } = await begin([rest], { exitRules, contact });
      const { body } = await engine.call('POST', `/workflows/${workflow.id}/simulate`, {
        contact: { email, ...contact },
        events: [{ name: 'bought', after: 60, data }],
      });
      await until('WAITING');
      await track('bought', data);
      const { status, exitReason } = body.data;
      const expected = exitReason === null ? ['WAITING', null] : ['EXITED', exitReason];
      const real = await until(expected[0]);
      expect([real.exitReason, status === 'EXITED']).toEqual([expected[1], exitReason !== null]);
    }
  });
});

it('an exit that was noted while a step waited comes with the next step', async () => {
  const { id, until, track, steps } = await begin([
    { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'paid' } },
    exit,
  ]);
  await until('WAITING');
  await sql`update execution set exit_pending = 'customer' where id = ${id}`.execute(engine.api.db);
  await track('paid');
  expect(await until('EXITED')).toMatchObject({ exitReason: 'customer' });
  expect(await steps()).toEqual([{ name: 'Wait', status: 'COMPLETED', error: null }]);
});
