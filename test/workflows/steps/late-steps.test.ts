import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createStepActivities } from '../../../activities/steps/steps.ts';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/**
 * Attempts of a step that Temporal gave up and another worker has repeated: their results arrive
 * when the execution is at another step.
 */

const receiver = await useReceiver();
// Its steps are called directly.
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' }, { worker: false });
const activities = createStepActivities(engine.services, 10);

type EffectStep = 'WEBHOOK' | 'SEND_EMAIL' | 'UPDATE_CONTACT' | 'DELAY';

/** Creates an execution of a step with a wait after it; `call` runs one of the two. */
async function twoSteps(first: Omit<StepPlan, 'type'> & { type: EffectStep }) {
  const { workflow, id, path } = await beginExecution(engine, {
    steps: [first, { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
  });
  const { version } = await engine.api.db
    .selectFrom('execution')
    .select('workflow_version as version')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const call = (name: string) =>
    activities[name === 'Wait' ? 'WAIT_FOR_EVENT' : first.type]({
      executionId: id,
      projectId: engine.project.id,
      workflowId: workflow.id,
      version,
      stepId: workflow.steps[name]!,
      since: new Date().toISOString(),
    });
  return {
    first: () => call(first.name),
    wait: () => call('Wait'),
    async shown() {
      const { body } = await engine.call('GET', path);
      const [, step] = body.stepExecutions;
      const at = body.currentStep?.name ?? null;
      return { status: body.status, at, step: step.status, output: step.output };
    },
  };
}

/** Holds the next response until the returned function is called. */
function holdAnswer(path: string, status: number): () => void {
  let release = () => {};
  receiver.answer(path, { status, until: new Promise((resolve) => (release = resolve)) });
  return () => release();
}

describe('a late attempt of a WEBHOOK step', () => {
  it.each([
    ['that is to be made again', 500, 'continue'],
    ['that is refused', 404, 'continue'],
    ['that fails the step', 404, 'fail'],
  ])(
    '%s leaves the result of another, and where the execution is',
    async (_, status, onFailure) => {
      const path = `/${randomUUID()}`;
      const answerFirst = holdAnswer(path, status);
      const config = { url: `${receiver.url}${path}`, onFailure };
      const execution = await twoSteps({ type: 'WEBHOOK', name: 'Call', config });
      const late = execution.first().catch(() => null);
      await waitFor('the first request', () => receiver.requests(path).length === 1);
      receiver.answer(path, { status: 200 });
      expect((await execution.first()).outcome).toEqual({ kind: 'done' });
      await execution.wait();
      const before = await execution.shown();
      expect(before).toMatchObject({ status: 'WAITING', at: 'Wait', step: 'COMPLETED' });
      expect(before.output).toMatchObject({ statusCode: 200, attempts: 1 });

      answerFirst();
      await late;
      expect(await execution.shown()).toEqual(before);
    },
  );

  it('does not count back the attempts of another', async () => {
    const path = `/${randomUUID()}`;
    const answerFirst = holdAnswer(path, 503);
    const config = { url: `${receiver.url}${path}` };
    const execution = await twoSteps({ type: 'WEBHOOK', name: 'Call', config });
    const late = execution.first().catch(() => null);
    await waitFor('the first request', () => receiver.requests(path).length === 1);
    receiver.answer(path, { status: 503 });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await expect(execution.first()).rejects.toThrow(`Attempt ${attempt}: `);
    }
    answerFirst();
    await late;
    receiver.answer(path, { status: 200 });
    await execution.first();
    expect((await execution.shown()).output).toMatchObject({ attempts: 3 });
  });
});

describe('a late attempt of another step', () => {
  const steps: [EffectStep, () => Promise<Omit<Partial<StepPlan>, 'type'>>][] = [
    ['SEND_EMAIL', async () => ({ templateId: await createTemplate(engine) })],
    ['UPDATE_CONTACT', async () => ({ config: { updates: { plan: 'pro' } } })],
    ['DELAY', async () => ({ config: { amount: 1, unit: 'minutes' } })],
  ];
  it.each(steps)('(%s) says what the first said, and moves nothing', async (type, plan) => {
    const execution = await twoSteps({ type, name: 'First', ...(await plan()) });
    const said = await execution.first();
    await execution.wait();
    const before = await execution.shown();
    expect(before).toMatchObject({ status: 'WAITING', at: 'Wait', step: 'COMPLETED' });
    expect((await execution.first()).outcome).toEqual(said.outcome);
    expect(await execution.shown()).toEqual(before);
  });
});

describe('a step that a delay follows', () => {
  it('begins the delay, too, and moves nothing when both are repeated', async () => {
    const { workflow, id, path } = await beginExecution(engine, {
      steps: [
        { type: 'UPDATE_CONTACT', name: 'First', config: { updates: { plan: 'pro' } } },
        { type: 'DELAY', name: 'Rest', config: { amount: 1, unit: 'hours' } },
        { type: 'EXIT', name: 'Out' },
      ],
    });
    const shown = async () => {
      const { body } = await engine.call('GET', path);
      // The dispatcher records the run id after the start.
      delete body.temporalRunId;
      // A repeated call updates the rows of the steps.
      for (const step of body.stepExecutions) delete step.updatedAt;
      return body;
    };
    const { workflowVersion: version } = await shown();
    const call = (name: string) => ({
      executionId: id,
      projectId: engine.project.id,
      workflowId: workflow.id,
      version,
      stepId: workflow.steps[name]!,
      since: new Date().toISOString(),
    });
    const said = await activities.UPDATE_CONTACT(call('First'));
    const before = await shown();
    const [, first, rest, out] = before.stepExecutions;
    const until = new Date(Date.parse(rest.startedAt) + 3_600_000).toISOString();
    expect(said).toEqual({
      outcome: { kind: 'resting', until },
      at: { id: workflow.steps['Rest'], type: 'DELAY', name: 'Rest' },
      next: { id: workflow.steps['Out'], type: 'EXIT', name: 'Out' },
    });
    expect([before.status, before.currentStep.name]).toEqual(['WAITING', 'Rest']);
    expect([first.status, rest.status, out.status]).toEqual([
      'COMPLETED',
      'COMPLETED',
      'SCHEDULED',
    ]);
    expect(out.scheduledFor).toBe(until);
    expect(rest.output).toEqual({ delayAmount: 1, delayUnit: 'hours', resumeAt: until });
    const { body } = await engine.call('GET', `${path}/history`);
    const changes = body.entries.filter(
      ({ stepName }: { stepName: string }) => stepName === 'Rest',
    );
    expect(changes.map(({ to }: { to: string }) => to)).toEqual(['RUNNING', 'COMPLETED']);

    // The run got no signal, because its worker was killed.
    expect((await activities.UPDATE_CONTACT(call('First'))).outcome).toEqual({ kind: 'done' });
    const { outcome, next } = await activities.DELAY(call('Rest'));
    expect([outcome, next]).toEqual([said.outcome, said.next]);
    expect(await shown()).toEqual(before);
  });
});

describe('a wait that is woken without its event', () => {
  it.each([undefined, 3600])('(time-out %s) goes on waiting for it', async (timeout) => {
    await engine.startWorker();
    const email = newAddress();
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [
        {
          type: 'WAIT_FOR_EVENT',
          name: 'Wait',
          config: { eventName: 'clicked', ...(timeout ? { timeout } : {}) },
        },
      ],
    });
    const contactId = await createContact(engine, email);
    const id = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, id, 'WAITING');
    const run = engine.temporal.client.workflow.getHandle(executionRunId(id));
    // A duplicate, late or manual signal.
    await run.signal('event', { stepId: workflow.steps['Wait'] });
    await engine.call('POST', '/v1/track', { email, event: 'something else' });
    // The run has handled the signal, and rests again.
    const { events } = await waitFor('the signal to be handled', async () => {
      const history = await run.fetchHistory();
      const signal = history.events?.findIndex((e) => e.workflowExecutionSignaledEventAttributes);
      const after = history.events?.slice(signal) ?? [];
      return after.some((e) => e.workflowTaskCompletedEventAttributes) && history;
    });
    expect(events!.some((e) => e.workflowExecutionCompletedEventAttributes)).toBe(false);
    await engine.call('POST', '/v1/track', { email, event: 'clicked' });
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions[1].output).toMatchObject({ waitOutcome: 'EVENT' });
    await engine.stopWorker();
  });
});
