import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createStepActivities } from '../../activities/steps.ts';
import { findWorkflowGraph } from '../../db/workflows.ts';
import { createLog } from '../../worker/log.ts';
import { createServices } from '../../worker/services.ts';
import { type Engine, startEngine } from '../support/engine.ts';
import { createContact, createTemplate, createWorkflow, startByHand } from '../support/journeys.ts';
import { watchTransactions } from '../support/open-transactions.ts';

/** A worker's activities, called without a worker. */

type Worker = Awaited<ReturnType<typeof createServices>>;

let engine: Engine;
let worker: Worker;
beforeAll(async () => {
  engine = await startEngine({}, { worker: false });
  const { api, temporal } = engine;
  const log = createLog(api.services.config, api.log.stream);
  worker = await createServices(api.services.config, api.db, temporal.client, log);
});
afterAll(async () => {
  await worker.close();
  await engine.close();
});

it('SEND_EMAIL renders a costly template once and holds nothing up meanwhile', async () => {
  const { db, url } = engine.api;
  const body = '{% for n in (1..3) %}{{n}}{{name}} {% endfor %}<a href="{{unsubscribeUrl}}">x</a>';
  const templateId = await createTemplate(engine, { body });
  const customEmail = '{% assign to = "notice@people.test" %}{{ to }}';
  const workflow = await createWorkflow(engine, {
    steps: [
      {
        type: 'SEND_EMAIL',
        name: 'Mail',
        templateId,
        config: { recipient: { type: 'CUSTOM', customEmail } },
      },
    ],
    ways: [['TRIGGER', 'Mail']],
  });
  const email = `${randomUUID()}@people.test`;
  const contactId = await createContact(engine, email, { data: { name: 'Ada' } });
  const executionId = await startByHand(engine, workflow.id, contactId);
  const { steps } = await findWorkflowGraph(db, workflow.id);
  const call = {
    executionId,
    projectId: engine.project.id,
    step: steps.find(({ id }) => id === workflow.steps['Mail'])!,
    since: new Date().toISOString(),
    nextStepId: null,
  };
  const { renderer, open } = watchTransactions(worker.services.renderer, db);
  const activities = createStepActivities({ ...worker.services, renderer }, 10);
  expect((await activities.SEND_EMAIL(call)).outcome).toEqual({ kind: 'ended' });
  expect(open).toEqual([0, 0]);
  const mails = await db
    .selectFrom('email')
    .select(['id', 'to_email', 'body'])
    .where('workflow_execution_id', '=', executionId)
    .execute();
  const link = (id: string) => `${url}/unsubscribe/${contactId}?e=${id}`;
  const text = (id: string) => `1Ada 2Ada 3Ada <a href="${link(id)}">x</a>`;
  expect(mails).toEqual(
    mails.map(({ id }) => ({ id, to_email: 'notice@people.test', body: text(id) })),
  );
  expect(mails).toHaveLength(1);
});
