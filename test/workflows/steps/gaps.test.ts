import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  createTemplate,
  createWorkflow,
  type StepPlan,
  type WayPlan,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Events that arrive while an execution is between two steps. */

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const templateId = await createTemplate(engine);

type Step = Omit<StepPlan, 'name'>;
const wait = (eventName: string, timeout = 15): Step => ({
  type: 'WAIT_FOR_EVENT',
  config: { eventName, timeout },
});
const update: Step = { type: 'UPDATE_CONTACT', config: { updates: { seen: true } } };
const mail: Step = { type: 'SEND_EMAIL', templateId };
const past: Step = {
  type: 'DELAY',
  config: { untilField: 'contact.createdAt', offset: { amount: -1, unit: 'days' } },
};
const condition: Step = {
  type: 'CONDITION',
  config: { field: 'contact.email', operator: 'contains', value: '@' },
};
const delay: Step = { type: 'DELAY', config: { amount: 1, unit: 'days' } };

function webhook(): { step: Step; path: string } {
  const path = `/${randomUUID()}`;
  return { step: { type: 'WEBHOOK', config: { url: `${receiver.url}${path}` } }, path };
}

/** Creates a workflow of these steps in turn, which exits early where a wait times out. */
async function journeyOf(eventName: string, steps: Step[]) {
  const named = steps.map((step, index) => ({ ...step, name: `${step.type} ${index}` }));
  const ways = named.flatMap(({ name, type }, index): WayPlan[] => {
    const next = named[index + 1]?.name ?? 'all came';
    if (type === 'CONDITION') return [[name, next, 'yes']];
    if (type !== 'WAIT_FOR_EVENT') return [[name, next]];
    return [
      [name, next, 'event'],
      [name, 'lost', 'timeout'],
    ];
  });
  const exits = ['all came', 'lost'].map((name) => ({
    type: 'EXIT',
    name,
    config: { reason: name },
  }));
  return createWorkflow(engine, {
    eventName,
    steps: [...named, ...exits],
    ways: [['TRIGGER', named[0]!.name], ...ways],
  });
}

const track = async (email: string, event: string) =>
  expect((await engine.call('POST', '/v1/track', { email, event })).status).toBe(200);

interface Listed {
  id: string;
  status: string;
  exitReason: string | null;
  completedAt: string | null;
  currentStep: { type: string } | null;
}

/** Returns the execution of a contact, once the condition is true for it. */
function executionOf(workflow: { id: string }, email: string, holds: (row: Listed) => boolean) {
  const path = `/executions?workflowId=${workflow.id}&email=${encodeURIComponent(email)}`;
  return waitFor(
    'the execution',
    async () => {
      const { body } = await engine.call('GET', path);
      const [row] = body.data as Listed[];
      return row && holds(row) ? row : null;
    },
    40_000,
  );
}
const isWaiting = ({ status }: Listed) => status === 'WAITING';
const hasEnded = ({ completedAt }: Listed) => completedAt !== null;

describe('behind a wait that an event has ended, a wait', () => {
  it.each<[string, Step[]]>([
    ['at once', []],
    ['an update of the contact', [update]],
    ['a mail', [mail]],
    ['a condition', [condition]],
    ['a date that is past', [past]],
    ['several steps', [update, mail, condition, update]],
  ])('ends by an event that comes right after: %s', async (_, between) => {
    const order = randomUUID();
    const workflow = await journeyOf(order, [wait('paid'), ...between, wait('shipped')]);
    const emails = Array.from({ length: 5 }, newAddress);
    const ends = emails.map(async (email, turn) => {
      await track(email, order);
      await executionOf(workflow, email, isWaiting);
      await track(email, 'paid');
      await sleep(turn * 7);
      await track(email, 'shipped');
      return (await executionOf(workflow, email, hasEnded)).exitReason;
    });
    expect(await Promise.all(ends)).toEqual(emails.map(() => 'all came'));
  });

  it('for the same name ends by the second event, however soon that comes', async () => {
    const order = randomUUID();
    const workflow = await journeyOf(order, [wait('paid'), update, wait('paid')]);
    const emails = Array.from({ length: 8 }, newAddress);
    const ends = emails.map(async (email, turn) => {
      await track(email, order);
      await executionOf(workflow, email, isWaiting);
      await track(email, 'paid');
      await sleep(turn % 2 ? 30 : 0);
      await track(email, 'paid');
      return (await executionOf(workflow, email, hasEnded)).exitReason;
    });
    expect(await Promise.all(ends)).toEqual(emails.map(() => 'all came'));
  });

  it('for the same name is not ended by the event that ended the first', async () => {
    const order = randomUUID();
    const workflow = await journeyOf(order, [wait('paid', 60), update, wait('paid', 1)]);
    const email = newAddress();
    await track(email, order);
    await executionOf(workflow, email, isWaiting);
    await track(email, 'paid');
    expect(await executionOf(workflow, email, hasEnded)).toMatchObject({ exitReason: 'lost' });
  });

  it('does not count an event of before', async () => {
    const order = randomUUID();
    const workflow = await journeyOf(order, [wait('paid', 60), update, wait('shipped', 1)]);
    const email = newAddress();
    await track(email, order);
    await executionOf(workflow, email, isWaiting);
    await track(email, 'shipped');
    await track(email, 'paid');
    expect(await executionOf(workflow, email, hasEnded)).toMatchObject({ exitReason: 'lost' });
  });

  it('does not count an event of before a delay between', async () => {
    const order = randomUUID();
    const workflow = await journeyOf(order, [wait('paid', 60), delay, wait('shipped', 1)]);
    const email = newAddress();
    await track(email, order);
    await executionOf(workflow, email, isWaiting);
    await track(email, 'paid');
    await track(email, 'shipped');
    const { id } = await executionOf(
      workflow,
      email,
      ({ currentStep }) => currentStep?.type === 'DELAY',
    );
    const path = `/workflows/${workflow.id}/executions/${id}`;
    const moved = await engine.call('PATCH', `${path}/wait`, { until: new Date().toISOString() });
    expect(moved.status).toBe(200);
    expect(await executionOf(workflow, email, hasEnded)).toMatchObject({ exitReason: 'lost' });
  });
});

describe('behind a webhook, a wait', () => {
  it.each<[string, (call: Step) => Step[]]>([
    ['at once', (call) => [call, wait('answered')]],
    ['after other steps', (call) => [call, update, mail, wait('answered')]],
    ['after another webhook', (call) => [call, webhook().step, wait('answered')]],
    ['of a journey that waited before', (call) => [wait('paid'), update, call, wait('answered')]],
  ])('ends by an event that its receiver tracks before it answers: %s', async (_, stepsOf) => {
    const order = randomUUID();
    const email = newAddress();
    const { step, path } = webhook();
    receiver.answer(path, { status: 200 });
    receiver.watch(path, () => track(email, 'answered'));
    const steps = stepsOf(step);
    const workflow = await journeyOf(order, steps);
    await track(email, order);
    if (steps[0]!.type === 'WAIT_FOR_EVENT') {
      await executionOf(workflow, email, isWaiting);
      await track(email, 'paid');
    }
    expect(await executionOf(workflow, email, hasEnded)).toMatchObject({ exitReason: 'all came' });
  });

  it('does not count an event of before the webhook', async () => {
    const order = randomUUID();
    const email = newAddress();
    const { step } = webhook();
    const workflow = await journeyOf(order, [step, wait('answered', 1)]);
    await track(email, 'answered');
    await track(email, order);
    expect(await executionOf(workflow, email, hasEnded)).toMatchObject({ exitReason: 'lost' });
  });
});
