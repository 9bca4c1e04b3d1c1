import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

const isFinal = ({ outcome }: { outcome: string }) => outcome !== 'pending';

it('lists who was sent the mail of a step, also of a step that is gone, and counts it', async () => {
  const templateId = await createTemplate(engine, { type: 'MARKETING' });
  const workflow = await createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
  });
  const path = `/workflows/${workflow.id}/steps/${workflow.steps['Mail']}/recipients`;
  expect((await engine.call('GET', path)).body).toEqual({ data: [], hasMore: false, total: 0 });
  const addresses = [newAddress(), newAddress()];
  const executions: string[] = [];
  for (const [index, address] of addresses.entries()) {
    const contactId = await createContact(engine, address, { subscribed: index === 0 });
    const id = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, id, 'COMPLETED');
    executions.push(id);
  }
  await engine.mailsTo(addresses[0]!, 1);
  // The outcome is recorded shortly after the mail has arrived.
  const body = await waitFor('both outcomes', async () => {
    const listed = await engine.call('GET', path);
    return listed.body.data.every(isFinal) && listed.body;
  });
  expect(body).toMatchObject({
    data: [
      {
        contact: { email: addresses[1] },
        executionId: executions[1],
        outcome: 'withheld',
        reasonCode: 'contact_unsubscribed',
      },
      {
        contact: { email: addresses[0] },
        executionId: executions[0],
        outcome: 'sent',
        reasonCode: null,
      },
    ],
    total: 2,
  });
  const withheld = await engine.call('GET', `${path}?outcome=withheld&reason=contact_unsubscribed`);
  expect(withheld.body).toMatchObject({ data: [{ emailId: body.data[0].emailId }], total: 1 });
  const { body: stats } = await engine.call('GET', `/workflows/${workflow.id}/stats`);
  expect(stats.data.steps.find(({ name }: { name: string }) => name === 'Mail').emails).toEqual({
    total: 2,
    outcomes: { sent: 1, failed: 0, withheld: 1, held: 0, pending: 0, unknown: 0 },
    reasons: { contact_unsubscribed: 1 },
    sent: 1,
    delivered: 1,
    opened: 0,
    clicked: 0,
    bounced: 0,
    humanOpened: 0,
    machineOpened: 0,
    humanClicked: 0,
    machineClicked: 0,
  });
  const ofTemplate = await engine.call('GET', `/templates/${templateId}/recipients`);
  expect(ofTemplate.body).toEqual(body);

  const { status } = await engine.call('DELETE', path.replace('/recipients', ''));
  expect(status).toBe(204);
  expect((await engine.call('GET', path)).body).toEqual(body);
});

it('answers 404 for steps and workflows that the project does not have', async () => {
  const workflow = await createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [{ type: 'EXIT', name: 'End' }],
  });
  const other = await createWorkflow(engine, {
    eventName: randomUUID(),
    steps: [{ type: 'EXIT', name: 'End' }],
  });
  const of = (id: string, stepId: string) =>
    engine.call('GET', `/workflows/${id}/steps/${stepId}/recipients`);
  expect(refusal(await of(workflow.id, randomUUID()))).toEqual([404, 'STEP_NOT_FOUND']);
  expect(refusal(await of(workflow.id, other.steps['End']!))).toEqual([404, 'STEP_NOT_FOUND']);
  expect(refusal(await of(randomUUID(), other.steps['End']!))).toEqual([404, 'WORKFLOW_NOT_FOUND']);
});
