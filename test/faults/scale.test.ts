import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/engine.ts';
import {
  beginExecution,
  createWorkflow,
  type StepPlan,
  type WayPlan,
} from '../support/histories/executions.ts';
import { newAddress } from '../support/projects/shop.ts';
import { waitFor } from '../support/wait-for.ts';

const engine = await useEngine();

describe('a graph of 200 steps', () => {
  it('is walked to its end, as several runs of one execution', { timeout: 90_000 }, async () => {
    const steps: StepPlan[] = Array.from({ length: 199 }, (_, index) => ({
      type: 'CONDITION',
      name: `If ${index}`,
      config: { field: 'data.plan', operator: 'notExists' },
    }));
    const ways: WayPlan[] = steps.map(({ name }, index) =>
      index === 0 ? ['TRIGGER', name] : [`If ${index - 1}`, name, 'yes'],
    );
    steps.push({ type: 'EXIT', name: 'End' });
    ways.push(['If 198', 'End', 'yes']);
    const { id, until } = await beginExecution(engine, { eventName: 'long', steps, ways });
    const done = await until('EXITED', 60_000);
    expect(done.stepExecutions).toHaveLength(201);
    expect(
      done.stepExecutions.every((step: { status: string }) => step.status === 'COMPLETED'),
    ).toBe(true);
    const runs = await waitFor('both runs to be listed', async () => {
      const found = [];
      const query = `WorkflowId = 'execution-${id}'`;
      for await (const run of engine.temporal.client.workflow.list({ query })) {
        found.push(run.status.name);
      }
      return found.length >= 2 && !found.includes('RUNNING') && found;
    });
    expect(runs.toSorted()).toEqual(['COMPLETED', 'CONTINUED_AS_NEW']);
  });
});

describe('a context of almost 64 KB', () => {
  it('is carried through waits and read by conditions', async () => {
    const context = { text: 'x'.repeat(63_000), n: 1 };
    const { email, until } = await beginExecution(engine, {
      eventName: 'large',
      steps: [
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'more' } },
        {
          type: 'CONDITION',
          name: 'If',
          config: { field: 'event.n', operator: 'equals', value: 2 },
        },
        { type: 'EXIT', name: 'Merged', config: { reason: 'merged' } },
      ],
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'If'],
        ['If', 'Merged', 'yes'],
      ],
      context,
    });
    await until('WAITING');
    await engine.call('POST', '/v1/track', { email, event: 'more', data: { n: 2 } });
    const done = await until('EXITED');
    expect(done.context).toEqual({ ...context, n: 2 });
  });
});

describe('a thousand executions at once', () => {
  it('all end, each once', { timeout: 180_000 }, async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'crowd',
      steps: [
        {
          type: 'UPDATE_CONTACT',
          name: 'Count',
          config: { updates: { seen: '{{event.n}}' } },
        },
        { type: 'EXIT', name: 'End' },
      ],
    });
    const people = Array.from({ length: 1000 }, (_, n) => ({ n, email: newAddress() }));
    const queue = people.values();
    const track = async () => {
      for (const { n, email } of queue) {
        const tracked = await engine.call('POST', '/v1/track', {
          email,
          event: 'crowd',
          data: { n },
        });
        expect(tracked.status).toBe(200);
      }
    };
    await Promise.all(Array.from({ length: 16 }, track));
    const path = `/workflows/${workflow.id}/executions?status=EXITED`;
    await waitFor(
      'all to have ended',
      async () => (await engine.call('GET', path)).body.total === people.length,
      150_000,
    );
    const { rows } = await engine.api.db
      .selectFrom('contact')
      .select(['email', 'data'])
      .where('project_id', '=', engine.project.id)
      .where(
        'email',
        'in',
        people.map(({ email }) => email),
      )
      .execute()
      .then((found) => ({ rows: new Map(found.map((row) => [row.email, row.data])) }));
    expect(people.every(({ n, email }) => (rows.get(email) as { seen: number }).seen === n)).toBe(
      true,
    );
  });
});
