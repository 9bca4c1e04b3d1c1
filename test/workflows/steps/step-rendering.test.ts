import { expect, it } from 'vitest';
import { createStepActivities } from '../../../activities/steps/steps.ts';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createTemplate,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { watchTransactions } from '../../support/open-transactions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';

/** A worker's activities, called directly. */

const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' }, { worker: false });

/**
 * Begins an execution of a step, with activities that record open transactions when they render.
 */
async function begin(plan: Omit<StepPlan, 'name'>) {
  const { db } = engine.api;
  const { workflow, contactId, id } = await beginExecution(engine, {
    steps: [{ name: 'It', ...plan }],
    contact: { data: { name: 'Ada' } },
  });
  const { version } = await db
    .selectFrom('execution')
    .select('workflow_version as version')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const call = {
    executionId: id,
    projectId: engine.project.id,
    workflowId: workflow.id,
    version,
    stepId: workflow.steps['It']!,
    since: new Date().toISOString(),
  };
  const { renderer, open } = watchTransactions(engine.services.renderer, db);
  const activities = createStepActivities({ ...engine.services, renderer }, 10);
  return { activities, call, open, contactId, executionId: id };
}

const costly = '{% for n in (1..3) %}{{n}}{{name}} {% endfor %}';

it('SEND_EMAIL renders a costly template once and holds nothing up meanwhile', async () => {
  const { db, url } = engine.api;
  const body = `${costly}<a href="{{unsubscribeUrl}}">x</a>`;
  const templateId = await createTemplate(engine, { body });
  const customEmail = '{% assign to = "notice@people.test" %}{{ to }}';
  const config = { recipient: { type: 'CUSTOM', customEmail } };
  const step = await begin({ type: 'SEND_EMAIL', templateId, config });
  const { activities, call, contactId } = step;
  expect((await activities.SEND_EMAIL(call)).outcome).toEqual({ kind: 'ended' });
  expect(step.open).toEqual([0, 0]);
  const mails = await db
    .selectFrom('email')
    .select(['id', 'to_email', 'body'])
    .where('workflow_execution_id', '=', step.executionId)
    .execute();
  const link = (id: string) => `${url}/unsubscribe/${contactId}?e=${id}`;
  const text = (id: string) => `1Ada 2Ada 3Ada <a href="${link(id)}">x</a>`;
  expect(mails).toEqual(
    mails.map(({ id }) => ({ id, to_email: 'notice@people.test', body: text(id) })),
  );
  expect(mails).toHaveLength(1);
});

it('UPDATE_CONTACT renders costly updates once and holds nothing up meanwhile', async () => {
  const step = await begin({ type: 'UPDATE_CONTACT', config: { updates: { note: costly } } });
  const { activities, call, contactId } = step;
  expect((await activities.UPDATE_CONTACT(call)).outcome).toEqual({ kind: 'ended' });
  expect(step.open).toEqual([0]);
  const { body } = await engine.call('GET', `/contacts/${contactId}`);
  expect(body.data).toEqual({ name: 'Ada', note: '1Ada 2Ada 3Ada ' });
});

it('WEBHOOK renders a costly body once and holds nothing up meanwhile', async () => {
  const receiver = await useReceiver();
  receiver.answer('/', { status: 200 });
  const config = { url: `${receiver.url}/`, body: { note: costly } };
  const step = await begin({ type: 'WEBHOOK', config });
  expect((await step.activities.WEBHOOK(step.call)).outcome).toEqual({ kind: 'ended' });
  expect(step.open).toEqual([0]);
  expect(receiver.requests('/').map(({ body }) => body)).toEqual(['{"note":"1Ada 2Ada 3Ada "}']);
});
