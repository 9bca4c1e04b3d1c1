import { randomUUID } from 'node:crypto';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { expect, it } from 'vitest';
import { executionRunId } from '../../../domain/runs/execution.ts';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  createContact,
  createWorkflow,
  type StepPlan,
  type WorkflowPlan,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Executions with keys and in parallel, with their runs in Temporal. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const keyAttribute = defineSearchAttributeKey('ExecutionKey', SearchAttributeType.KEYWORD);
const wait: StepPlan = { type: 'WAIT_FOR_EVENT', name: 'Done?', config: { eventName: 'done' } };

async function begin(plan: Pick<WorkflowPlan, 'steps' | 'executionKey' | 'reentry'>) {
  const eventName = randomUUID();
  const workflow = await createWorkflow(engine, { eventName, ...plan });
  const email = newAddress();
  await createContact(engine, email);
  const track = (event: string, data: object = {}) =>
    engine.call('POST', '/v1/track', { email, event, data });
  return {
    track,
    start: (data?: object) => track(eventName, data),
    /** Returns the executions once so many have a status, oldest first. */
    executions: (status: string, count: number) =>
      waitFor(`${count} executions that are ${status}`, async () => {
        const path = `/workflows/${workflow.id}/executions?status=${status}`;
        const { executions } = (await engine.call('GET', path)).body;
        return executions.length === count ? executions.toReversed() : null;
      }),
  };
}

it('ends the waits of three parallel executions by one event', async () => {
  const { start, track, executions } = await begin({
    reentry: { mode: 'parallel' },
    steps: [wait],
  });
  for (const _ of [1, 2, 3]) await start();
  await executions('WAITING', 3);
  await track('done');
  const ended = await executions('COMPLETED', 3);
  for (const { id, key } of ended) {
    expect(key).toBeNull();
    const run = engine.temporal.client.workflow.getHandle(executionRunId(id));
    expect((await run.describe()).typedSearchAttributes.get(keyAttribute)).toBeUndefined();
  }
});

it('names the key to a webhook, and to Temporal only where it looks like an id', async () => {
  const path = `/${randomUUID()}`;
  receiver.answer(path, { status: 200 }, { status: 200 });
  const { start, executions } = await begin({
    executionKey: 'event.orderId',
    steps: [{ type: 'WEBHOOK', name: 'Call', config: { url: `${receiver.url}${path}` } }, wait],
  });
  const personal = 'ada@shop.example';
  await start({ orderId: 1 });
  await start({ orderId: personal });
  const [one, other] = await executions('WAITING', 2);
  expect([one.key, other.key]).toEqual(['1', personal]);
  const bodies = receiver.requests(path).map(({ body }) => JSON.parse(body).execution);
  expect(bodies).toEqual(
    expect.arrayContaining([
      { id: one.id, startedAt: one.startedAt, key: '1' },
      { id: other.id, startedAt: other.startedAt, key: personal },
    ]),
  );
  const run = (id: string) => engine.temporal.client.workflow.getHandle(executionRunId(id));
  expect((await run(one.id).describe()).typedSearchAttributes.get(keyAttribute)).toBe('1');
  expect((await run(other.id).describe()).typedSearchAttributes.get(keyAttribute)).toBeUndefined();
  const texts = textsIn(await run(other.id).fetchHistory());
  expect(texts.join()).toContain(other.id);
  expect(texts.join()).not.toContain(personal);
});

/** Returns all texts in a history, also in its payloads. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}
