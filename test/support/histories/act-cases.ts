import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine.ts';
import type { Receiver } from '../fakes/receiver.ts';
import {
  beginExecution,
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
} from './executions.ts';
import { newAddress } from '../projects/shop.ts';
import { waitFor } from '../wait-for.ts';

/**
 * Executions of workflows with an action on the execution, such as a moved delay, in the form of
 * `historyCases`.
 */
export const actHistoryCases: Record<
  string,
  (engine: Engine, receiver: Receiver) => Promise<string>
> = {
  'delay-moved': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [thirtyDays, out] });
    await until('WAITING');
    await engine.call('PATCH', `${path}/wait`, { shiftBySeconds: 60 });
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await until('EXITED');
    return id;
  },
  'wait-moved': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [waiting, out] });
    await until('WAITING');
    await engine.call('PATCH', `${path}/wait`, { forever: true });
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await until('EXITED');
    return id;
  },
  // The step is still held when the history is recorded.
  'held-waiting': async (engine) => (await heldBefore(engine, 'Exit')).id,
  'held-and-released': async (engine) => {
    const { id, path, until } = await heldBefore(engine, 'Exit');
    await engine.call('POST', `${path}/resume`);
    await until('EXITED');
    return id;
  },
  'delay-skipped': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [thirtyDays, out] });
    await until('WAITING');
    await engine.call('POST', `${path}/skip`);
    await until('EXITED');
    return id;
  },
  'digest-moved': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [collecting, out] });
    await until('WAITING');
    await engine.call('PATCH', `${path}/wait`, { until: longAgo });
    await until('EXITED');
    return id;
  },
  'digest-skipped': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [collecting, out] });
    await until('WAITING');
    await engine.call('POST', `${path}/skip`);
    await until('EXITED');
    return id;
  },
  'wait-skipped': async (engine) => {
    const { id, path, until } = await beginExecution(engine, { steps: [waiting] });
    await until('WAITING');
    await engine.call('POST', `${path}/skip`);
    await until('COMPLETED');
    return id;
  },
  'webhook-skipped': async (engine, receiver) => {
    const hook = `/${randomUUID()}`;
    receiver.answer(hook, { status: 404 });
    const config = { url: `${receiver.url}${hook}`, onFailure: 'fail' };
    const { id, path, until } = await beginExecution(engine, {
      steps: [{ type: 'WEBHOOK', name: 'Call', config }, out],
    });
    await until('FAILED');
    await engine.call('POST', `${path}/skip`);
    await until('EXITED');
    return id;
  },
  'exited-by-rule': async (engine) => {
    const eventName = randomUUID();
    const exitRules = [{ eventName: 'bought', reason: 'has bought' }];
    const { id: workflowId } = await createWorkflow(engine, {
      eventName,
      steps: [thirtyDays, out],
    });
    await engine.call('PATCH', `/workflows/${workflowId}`, { exitRules });
    const email = newAddress();
    const id = await startByHand(engine, workflowId, await createContact(engine, email));
    await executionIn(engine, workflowId, id, 'WAITING');
    await engine.call('POST', '/v1/track', { email, event: 'bought' });
    await executionIn(engine, workflowId, id, 'EXITED');
    return id;
  },
};

const longAgo = '2020-01-01T00:00:00Z';
const out: StepPlan = { type: 'EXIT', name: 'Exit' };
const thirtyDays: StepPlan = { type: 'DELAY', name: 'Delay', config: { amount: 30, unit: 'days' } };
const waiting: StepPlan = {
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName: 'clicked', timeout: 86_400 },
};

const collecting: StepPlan = {
  type: 'DIGEST',
  name: 'Digest',
  config: { eventName: 'clicked', for: { amount: 1, unit: 'days' } },
};

/** Creates a paused execution whose delay has ended. */
async function heldBefore(engine: Engine, name: string) {
  const begun = await beginExecution(engine, { steps: [thirtyDays, out] });
  await begun.until('WAITING');
  await engine.call('POST', `${begun.path}/pause`);
  await engine.call('PATCH', `${begun.path}/wait`, { until: longAgo });
  await waitFor(`an execution held before ${name}`, async () => {
    const { body } = await engine.call('GET', begun.path);
    return body.status === 'RUNNING';
  });
  return begun;
}
