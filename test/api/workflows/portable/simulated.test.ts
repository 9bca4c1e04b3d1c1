import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../../support/projects/shop.ts';
import { errorFields } from '../../../support/projects/workflow-api.ts';

/** A simulation accepts the graph of a workflow. */

const { call } = await useShop();

const graph = {
  trigger: { type: 'EVENT', config: { eventName: 'joined' } },
  exitRules: [{ eventName: 'left', reason: 'gone' }],
  steps: [
    { key: 'trigger', type: 'TRIGGER' },
    {
      key: 'score',
      type: 'WEBHOOK',
      name: 'Score',
      config: { url: 'https://shop.example/score', onFailure: 'fail' },
    },
    { key: 'week', type: 'DELAY', name: 'A week', config: { amount: 7, unit: 'days' } },
  ],
  transitions: [
    { from: 'trigger', to: 'score' },
    { from: 'score', to: 'week' },
  ],
};
const { body: workflow } = await call('POST', '/workflows', { name: 'W', graph });
const play = (given: object) =>
  call('POST', `/workflows/${workflow.id}/simulate`, {
    contact: { email: newAddress() },
    ...given,
  });
const idsOf = ({ body }: { body: { data: { path: { stepId: string }[] } } }) =>
  body.data.path.map(({ stepId }) => stepId);

describe('the graph of a simulation', () => {
  it('has keys or ids, and plays the same', async () => {
    const stored = await play({});
    const keyed = await play({ graph });
    expect([keyed.status, idsOf(keyed)]).toEqual([200, ['trigger', 'score', 'week']]);
    const [, score, week] = idsOf(stored);
    expect([keyed.body.data.status, stored.body.data.status]).toEqual(['COMPLETED', 'COMPLETED']);
    const { body: read } = await call('GET', `/workflows/${workflow.id}/graph`);
    expect(idsOf(await play({ graph: read }))).toEqual(idsOf(keyed));
    // Responses may be given by the key or the id of their step.
    for (const webhooks of [{ score: { statusCode: 404 } }, { [score!]: { statusCode: 404 } }]) {
      for (const more of [{}, { graph }]) {
        expect((await play({ webhooks, ...more })).body.data.status).toBe('FAILED');
      }
    }
    const events = [{ name: 'left', after: 60 }];
    expect((await play({ graph, events })).body.data).toMatchObject({
      status: 'EXITED',
      exitReason: 'gone',
    });
    expect(errorFields((await play({ webhooks: { week: {}, none: {} } })).body)).toEqual([
      'webhooks.none not_found',
    ]);
    expect(week).toBeDefined();
  });

  it('draws the same arms by its keys as the workflow', async () => {
    const arms = ['a', 'b'].map((id) => ({ id, name: id, weight: 1 }));
    const drawing = {
      trigger: graph.trigger,
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'split', type: 'SPLIT', name: 'Split', config: { arms } },
        { key: 'out', type: 'EXIT', name: 'Out', config: {} },
      ],
      transitions: [
        { from: 'trigger', to: 'split' },
        { from: 'split', to: 'out', branch: 'a' },
      ],
    };
    const { body: made } = await call('POST', '/workflows', { name: 'W', graph: drawing });
    const armsOf = async (email: string, more: object) => {
      const given = { contact: { email }, ...more };
      const { body } = await call('POST', `/workflows/${made.id}/simulate`, given);
      return body.data.path[1].branch as string;
    };
    for (let index = 0; index < 12; index++) {
      const email = newAddress();
      expect(await armsOf(email, { graph: drawing })).toBe(await armsOf(email, {}));
    }
  });

  it('is refused by the names that it has', async () => {
    const wrong = { ...graph, transitions: [{ from: 'trigger', to: 'scroe' }] };
    const { status, body } = await play({ graph: wrong });
    expect([status, body.error.errors]).toEqual([
      422,
      [
        {
          field: 'graph.transitions.0.to',
          code: 'not_found',
          message: '"scroe" is not a step of this graph. Did you mean "score"?',
        },
      ],
    ]);
    const strict = await call(
      'POST',
      `/workflows/${workflow.id}/simulate`,
      { contact: { email: newAddress() }, graph: { ...graph, stpes: [] } },
      { prefer: 'handling=strict' },
    );
    expect(errorFields(strict.body)).toEqual(['graph.stpes unknown_field']);
  });
});
