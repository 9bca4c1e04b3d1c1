import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';

const engine = await useEngine();

const workflow = await createWorkflow(engine, {
  steps: [
    {
      type: 'CONDITION',
      name: 'Pro?',
      config: { field: 'data.plan', operator: 'equals', value: 'pro' },
    },
    { type: 'WAIT_FOR_EVENT', name: 'Paid?', config: { eventName: 'paid' } },
    { type: 'DELAY', name: 'Two days', config: { amount: 2, unit: 'days' } },
    { type: 'EXIT', name: 'End', config: {} },
  ],
  ways: [
    ['TRIGGER', 'Pro?'],
    ['Pro?', 'Paid?', 'yes'],
    ['Pro?', 'Two days', 'no'],
    ['Paid?', 'Two days', 'event'],
    ['Two days', 'End'],
  ],
});
const path = `/workflows/${workflow.id}`;

async function start(plan: string): Promise<string> {
  const contact = await createContact(engine, newAddress(), { data: { plan } });
  const id = await startByHand(engine, workflow.id, contact);
  await executionIn(engine, workflow.id, id, 'WAITING');
  return id;
}

/** Returns the states of the steps in an execution's picture, by class. */
async function statesOf(id: string): Promise<Record<string, string>> {
  const { status, body } = await engine.call('GET', `${path}/executions/${id}/graph.svg`);
  expect(status).toBe(200);
  const found = body.matchAll(/<g class="step (\w+)"><title>([^\n<]+)[^]*?<\/g>/g);
  return Object.fromEntries([...found].map(([, state, name]) => [name, state]));
}

async function statsOf(): Promise<{ executions: object; steps: Record<string, object> }> {
  const { body } = await engine.call('GET', `${path}/stats`);
  const steps = body.data.steps.map((step: { name: string }) => [step.name, step]);
  return { executions: body.data.executions, steps: Object.fromEntries(steps) };
}

describe('numbers and pictures of executions that live', () => {
  it('are what the executions are, at each moment', async () => {
    const [waiting, skipped, paused] = [
      await start('pro'),
      await start('pro'),
      await start('free'),
    ];
    expect(await statesOf(waiting)).toEqual({
      'Trigger: started': 'done',
      'Pro?': 'done',
      'Paid?': 'current',
      'Two days': 'untouched',
      End: 'untouched',
    });
    expect(await statesOf(paused)).toMatchObject({
      'Paid?': 'untouched',
      'Two days': 'current',
      End: 'scheduled',
    });
    await engine.call('POST', `${path}/executions/${paused}/pause`, {});
    const branch = { branch: 'event' };
    expect((await engine.call('POST', `${path}/executions/${skipped}/skip`, branch)).status).toBe(
      200,
    );
    await executionIn(engine, workflow.id, skipped, 'WAITING');
    expect(await statesOf(skipped)).toMatchObject({
      'Paid?': 'skipped',
      'Two days': 'current',
      End: 'scheduled',
    });

    const before = await statsOf();
    expect(before.executions).toMatchObject({ started: 3, active: 3, paused: 1, exited: 0 });
    expect(before.steps['Pro?']).toMatchObject({ entered: 3, branches: { yes: 2, no: 1 } });
    expect(before.steps['Paid?']).toMatchObject({
      entered: 2,
      skipped: 1,
      waiting: 1,
      branches: { event: 1 },
    });
    expect(before.steps['Two days']).toMatchObject({ entered: 2, waiting: 2, medianSeconds: null });

    // A skipped delay lasts until it is skipped.
    await engine.call('POST', `${path}/executions/${skipped}/skip`, {});
    await executionIn(engine, workflow.id, skipped, 'EXITED');
    expect(await statesOf(skipped)).toMatchObject({ 'Two days': 'skipped', End: 'done' });
    const after = await statsOf();
    expect(after.executions).toMatchObject({ active: 2, exited: 1 });
    expect(after.steps['Two days']).toMatchObject({ skipped: 1, waiting: 1 });
    const { medianSeconds } = after.steps['Two days'] as { medianSeconds: number };
    expect(medianSeconds).toBeGreaterThanOrEqual(0);
    expect(medianSeconds).toBeLessThan(60);
    const { body } = await engine.call('GET', `${path}/graph.svg?stats=true`);
    expect(body).toContain('>2 entered · 1 waiting</text>');
  });

  it('are of the graph that an execution runs on, and of the workflow as it is drawn', async () => {
    const moved = await start('pro');
    await engine.call('PATCH', `${path}/steps/${workflow.steps['Pro?']}`, { name: 'On pro?' });
    const { status } = await engine.call(
      'DELETE',
      `${path}/steps/${workflow.steps['Two days']}?splice=true`,
    );
    expect(status).toBe(204);
    expect(await statesOf(moved)).toMatchObject({ 'Pro?': 'done', 'Two days': 'untouched' });
    const { body } = await engine.call('GET', `${path}/graph.svg`);
    expect(body).toContain('>On pro?</text>');
    expect(body).not.toContain('>Two days</text>');
  });
});
