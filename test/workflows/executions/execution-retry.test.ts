import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

/** An execution that failed: its webhook got these statuses. It would wait behind the webhook. */
async function failed(...statuses: number[]) {
  const path = `/${randomUUID()}`;
  receiver.answer(path, ...statuses.map((status) => ({ status })));
  const begun = await beginExecution(engine, {
    allowReentry: true,
    steps: [
      {
        type: 'WEBHOOK',
        name: 'Call',
        config: { url: `${receiver.url}${path}`, onFailure: 'fail' },
      },
      { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } },
    ],
  });
  const execution = await begun.until('FAILED');
  receiver.answer(path, { status: 200 });
  return { ...begun, workflowId: begun.workflow.id, execution };
}

const retry = ({ path }: { path: string }) => engine.call('POST', `${path}/retry`);

describe('POST …/retry', () => {
  it('answers 409 EXECUTION_EXISTS while another execution of the contact is active', async () => {
    const begun = await failed(404);
    const { workflowId, contactId } = begun;
    const other = await startByHand(engine, workflowId, contactId);
    await executionIn(engine, workflowId, other, 'WAITING');
    const answer = await retry(begun);
    expect(refusal(answer)).toEqual([409, 'EXECUTION_EXISTS']);
    expect(answer.body.error.details).toEqual({ executionId: other, status: 'WAITING' });
    const path = `/workflows/${workflowId}/executions`;
    const { body: untouched } = await engine.call('GET', `${path}/${begun.id}`);
    expect([untouched.status, untouched.error]).toEqual(['FAILED', begun.execution.error]);

    // The other one is in the way no longer; being cancelled, it cannot be tried again itself.
    await engine.call('DELETE', `${path}/${other}`);
    expect(refusal(await retry({ path: `${path}/${other}` }))).toEqual([
      409,
      'EXECUTION_NOT_FAILED',
    ]);
    expect((await retry(begun)).status).toBe(200);
    await executionIn(engine, workflowId, begun.id, 'WAITING');
  });

  it('is not hindered by an active execution of another contact', async () => {
    const begun = await failed(404);
    const other = await createContact(engine, newAddress());
    await startByHand(engine, begun.workflowId, other);
    expect((await retry(begun)).status).toBe(200);
  });

  it('counts the attempts of a webhook from one again', async () => {
    const begun = await failed(500, 404);
    expect(begun.execution.stepExecutions[1]).toMatchObject({
      status: 'FAILED',
      output: { statusCode: 404, attempts: 2 },
    });
    expect((await retry(begun)).status).toBe(200);
    const waiting = await executionIn(engine, begun.workflowId, begun.id, 'WAITING');
    expect(waiting.stepExecutions[1]).toMatchObject({
      status: 'COMPLETED',
      output: { statusCode: 200, attempts: 1 },
    });
  });

  it('calls the address of the version it began in, whatever the step says since', async () => {
    const begun = await failed(404);
    const { workflowId, id, execution } = begun;
    const { stepId } = execution.stepExecutions[1]!;
    const edited = `/${randomUUID()}`;
    receiver.answer(edited, { status: 200 });
    const config = { url: `${receiver.url}${edited}`, onFailure: 'fail' };
    const path = `/workflows/${workflowId}/steps/${stepId}`;
    expect((await engine.call('PATCH', path, { config })).status).toBe(200);
    const { body: again } = await retry(begun);
    expect(again.workflowVersion).toBe(execution.workflowVersion);
    await executionIn(engine, workflowId, id, 'WAITING');
    expect(receiver.requests(edited)).toEqual([]);
  });

  it('works while the workflow is disabled', async () => {
    const begun = await failed(404);
    const { workflowId, contactId } = begun;
    const disabled = await engine.call('PATCH', `/workflows/${workflowId}`, { enabled: false });
    expect(disabled.body.enabled).toBe(false);
    const start = await engine.call('POST', `/workflows/${workflowId}/executions`, { contactId });
    expect(refusal(start)).toEqual([400, 'WORKFLOW_NOT_ENABLED']);
    const again = await retry(begun);
    expect([again.status, again.body.status]).toEqual([200, 'RUNNING']);
    await executionIn(engine, workflowId, begun.id, 'WAITING');
  });
});
