import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

/** Runs one step for a new contact until the execution has the status. Returns its record. */
async function play(step: StepPlan, status: string) {
  const { until } = await beginExecution(engine, { steps: [step] });
  return until(status);
}

describe('a WAIT_FOR_EVENT step', () => {
  const wait = (config: object): StepPlan => ({
    type: 'WAIT_FOR_EVENT',
    name: 'Wait',
    config: { eventName: 'never', ...config },
  });

  it('shows when its time is over', async () => {
    const [, step] = (await play(wait({ timeout: 5400 }), 'WAITING')).stepExecutions;
    expect(step.status).toBe('WAITING');
    const over = new Date(Date.parse(step.startedAt) + 5_400_000).toISOString();
    expect([step.executeAfter, step.scheduledFor]).toEqual([over, null]);
  });

  it('shows no such time when it has none', async () => {
    const [, step] = (await play(wait({}), 'WAITING')).stepExecutions;
    expect([step.status, step.executeAfter]).toEqual(['WAITING', null]);
  });
});

describe('a delay that begins with the end of the step before it', () => {
  it('comes after that in the history', async () => {
    const { path, until } = await beginExecution(engine, {
      steps: [
        { type: 'UPDATE_CONTACT', name: 'Note', config: { updates: { seen: true } } },
        { type: 'DELAY', name: 'Day', config: { amount: 1, unit: 'days' } },
        { type: 'EXIT', name: 'End' },
      ],
    });
    await until('WAITING');
    const { entries } = (await engine.call('GET', `${path}/history`)).body;
    type Entry = { stepName: string | null; to: string };
    const ofSteps = entries.filter(({ stepName }: Entry) => stepName !== null);
    expect(ofSteps.slice(1).map(({ stepName, to }: Entry) => `${stepName} ${to}`)).toEqual([
      'Note RUNNING',
      'Note COMPLETED',
      'Day RUNNING',
      'Day COMPLETED',
      'End SCHEDULED',
    ]);
  });
});

describe('an EXIT step', () => {
  it.each([
    [{}, 'exit_step'],
    [{ reason: 'enough' }, 'enough'],
  ])('with the settings %j ends with %s', async (config, reason) => {
    const execution = await play({ type: 'EXIT', name: 'Out', config }, 'EXITED');
    expect(execution.exitReason).toBe(reason);
    expect(execution.stepExecutions[1].output).toEqual({ exited: true, reason });
  });
});

describe('the name of the workflow in the body of a webhook', () => {
  it.each(['by hand', 'by event'])('is that of the start (%s)', async (start) => {
    const [path, eventName, email] = [`/${randomUUID()}`, randomUUID(), newAddress()];
    receiver.answer(path, { status: 200 });
    const workflow = await createWorkflow(engine, {
      eventName,
      allowReentry: true,
      steps: [
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: `${eventName} go` } },
        { type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${path}` } },
      ],
    });
    const contactId = await createContact(engine, email);
    const track = (event: string) => engine.call('POST', '/v1/track', { email, event });

    /**
     * Starts an execution, changes something while it waits, and lets it continue to its
     * webhook.
     */
    const calledAfter = async (change: () => Promise<unknown>) => {
      if (start === 'by event') await track(eventName);
      else await startByHand(engine, workflow.id, contactId);
      const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
      const { id } = body.executions[0];
      await executionIn(engine, workflow.id, id, 'WAITING');
      await change();
      await track(`${eventName} go`);
      await executionIn(engine, workflow.id, id, 'COMPLETED');
      const request = await waitFor('the webhook', () => receiver.requests(path).at(-1));
      return JSON.parse(request.body).workflow as unknown;
    };
    const rename = () =>
      engine.call('PATCH', `/workflows/${workflow.id}`, { name: 'Another journey' });
    expect(await calledAfter(rename)).toEqual({ id: workflow.id, name: 'Journey' });
    expect(await calledAfter(async () => {})).toEqual({
      id: workflow.id,
      name: 'Another journey',
    });
  });
});
