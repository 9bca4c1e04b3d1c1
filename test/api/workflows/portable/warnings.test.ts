import { describe, expect, it } from 'vitest';
import { newAddress, useShop } from '../../../support/projects/shop.ts';

/** A journey that can run but probably has a mistake is accepted, with warnings. */

const { call, createTemplate } = await useShop();

const graph = {
  trigger: { type: 'EVENT', config: { eventName: 'joined' } },
  steps: [
    { key: 'trigger', type: 'TRIGGER' },
    { key: 'paid', type: 'WAIT_FOR_EVENT', name: 'Paid?', config: { eventName: 'paid' } },
    { key: 'plan', type: 'CONDITION', name: 'Pro?', config: isEqual('data.plna') },
    { key: 'late', type: 'EXIT', name: 'Too late', config: {} },
    { key: 'lost', type: 'EXIT', name: 'Lost', config: {} },
  ],
  transitions: [
    { from: 'trigger', to: 'paid' },
    { from: 'paid', to: 'plan', branch: 'event' },
    { from: 'paid', to: 'late', branch: 'timeout' },
    { from: 'plan', to: 'late', branch: 'yes' },
  ],
};

const mended = {
  ...graph,
  steps: [
    ...graph.steps.slice(0, 1),
    { ...graph.steps[1], config: { eventName: 'paid', timeout: 60 } },
    { ...graph.steps[2], config: isEqual('data.plan') },
    ...graph.steps.slice(3, 4),
  ],
};

function isEqual(field: string): object {
  return { field, operator: 'equals', value: 'pro' };
}

interface Warning {
  code: string;
  message: string;
  step: string;
}
const textsOf = (warnings: Warning[] = []) => warnings.map(({ code, step }) => `${code} ${step}`);

await call('POST', '/contacts', { email: newAddress(), data: { plan: 'pro' } });

describe('the warnings of a graph', () => {
  it('are in the answers that store, show, enable and play it, until it is mended', async () => {
    const made = await call('POST', '/workflows', { name: 'W', enabled: true, graph });
    expect([made.status, made.body.enabled]).toEqual([201, true]);
    expect(textsOf(made.body.warnings)).toEqual([
      'timeout_never paid',
      'unreachable_step lost',
      'unknown_field plan',
    ]);
    const path = `/workflows/${made.body.id}`;
    const { body: shown } = await call('GET', path);
    const ids = new Map<string, string>(
      shown.steps.map((step: { name: string; id: string }) => [step.name, step.id]),
    );
    const byId = [
      `timeout_never ${ids.get('Paid?')}`,
      `unreachable_step ${ids.get('Lost')}`,
      `unknown_field ${ids.get('Pro?')}`,
    ];
    expect(textsOf(shown.warnings)).toEqual(byId);
    expect(shown.warnings.map(({ message }: Warning) => message)).toEqual([
      expect.stringMatching(/"Paid\?" has no timeout.*never taken/),
      'No path leads from the trigger to "Lost", so no execution reaches it. Add a transition to it, or delete it.',
      'None of the newest 5,000 contacts has the field "data.plna". Did you mean "plan"?',
    ]);
    expect(textsOf((await call('PATCH', path, { enabled: true })).body.warnings)).toEqual(byId);
    expect(textsOf((await call('PATCH', path, { name: 'V' })).body.warnings)).toEqual(byId);
    const contact = { email: newAddress() };
    const played = await call('POST', `${path}/simulate`, { contact });
    expect(textsOf(played.body.data.warnings)).toEqual(byId);
    // The field is known if the simulated contact has it.
    const known = await call('POST', `${path}/simulate`, {
      contact: { ...contact, data: { plna: 1 } },
    });
    expect(textsOf(known.body.data.warnings)).toEqual(byId.slice(0, 2));

    expect(textsOf((await call('PUT', `${path}/graph`, graph)).body.warnings)).toEqual(byId);
    const put = await call('PUT', `${path}/graph`, mended);
    expect([put.status, put.body.warnings]).toEqual([200, undefined]);
    const again = await call('POST', `${path}/simulate`, { contact });
    expect(again.body.data.warnings).toEqual([]);
  });

  it('do not name a field that the journey itself sets', async () => {
    const { body } = await call('POST', '/workflows', {
      name: 'W',
      graph: {
        ...mended,
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          {
            key: 'mark',
            type: 'UPDATE_CONTACT',
            name: 'Mark',
            config: { updates: { marked: true } },
          },
          { key: 'is', type: 'CONDITION', name: 'Is?', config: isEqual('data.marked') },
        ],
        transitions: [
          { from: 'trigger', to: 'mark' },
          { from: 'mark', to: 'is' },
        ],
      },
    });
    expect([body.name, body.warnings]).toEqual(['W', undefined]);
  });
});

describe('the warnings of a simulated mail', () => {
  it('are those of a preview', async () => {
    const templateId = await createTemplate({
      subject: 'Hi {{name ?? you}}',
      body: '<p>{{ webhook.response.score }}</p>',
    });
    const { body: made } = await call('POST', '/workflows', {
      name: 'W',
      graph: {
        trigger: graph.trigger,
        steps: [
          { key: 'trigger', type: 'TRIGGER' },
          { key: 'mail', type: 'SEND_EMAIL', name: 'Mail', config: {}, templateId },
        ],
        transitions: [{ from: 'trigger', to: 'mail' }],
      },
    });
    const contact = { email: newAddress() };
    const played = await call('POST', `/workflows/${made.id}/simulate`, { contact });
    const preview = await call('POST', `/templates/${templateId}/preview`, { contact });
    const { warnings } = preview.body.data;
    expect(warnings).toMatchObject([{ code: 'unknown_variable', line: 1, column: 4 }]);
    expect(played.body.data.emails[0].warnings).toEqual(warnings);
  });
});
