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

/**
 * Creates a failed execution whose receiver responded with these statuses, with a wait after the
 * webhook.
 */
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

    // The other one no longer blocks it, but cannot be retried itself, because it was cancelled.
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

describe('POST …/retry with a version', () => {
  const retryOn = ({ path }: { path: string }, version: number) =>
    engine.call('POST', `${path}/retry`, { version });

  it('goes on at the failed step of that version, which has another address', async () => {
    const begun = await failed(404);
    const { workflowId, execution } = begun;
    const edited = `/${randomUUID()}`;
    receiver.answer(edited, { status: 200 });
    const config = { url: `${receiver.url}${edited}`, onFailure: 'fail' };
    const workflow = `/workflows/${workflowId}`;
    const step = `${workflow}/steps/${execution.stepExecutions[1]!.stepId}`;
    expect((await engine.call('PATCH', step, { config })).status).toBe(200);
    await engine.call('PATCH', workflow, { name: 'Renamed' });
    const { version } = (await engine.call('GET', workflow)).body;

    const answer = await retryOn(begun, version);
    expect([answer.status, answer.body.workflowVersion]).toEqual([200, version]);
    const waiting = await begun.until('WAITING');
    expect(waiting.workflowVersion).toBe(version);
    expect(receiver.requests(edited)).toHaveLength(1);
    const { body } = await engine.call('GET', `${begun.path}/history`);
    const own = body.entries.filter((entry: { stepId: string | null }) => entry.stepId === null);
    const [from, to] = [`v${execution.workflowVersion}`, `v${version}`];
    expect(own.map((entry: { to: string }) => entry.to)).toEqual([
      'RUNNING',
      'FAILED',
      to,
      'RUNNING',
      'WAITING',
    ]);
    expect(own[2]).toMatchObject({ stepId: null, stepName: null, from, detail: {} });
    const row = await engine.api.db
      .selectFrom('execution')
      .select(['workflow_name', 'earlier_versions'])
      .where('id', '=', begun.id)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({
      workflow_name: 'Renamed',
      earlier_versions: [execution.workflowVersion],
    });
  });

  it('goes on at a version that was drawn while the workflow was disabled, also a former one', async () => {
    const begun = await failed(404);
    const { workflowId, execution } = begun;
    const workflow = `/workflows/${workflowId}`;
    await engine.call('PATCH', workflow, { enabled: false });
    const step = `${workflow}/steps/${execution.stepExecutions[1]!.stepId}`;
    const drawn = [`/${randomUUID()}`, `/${randomUUID()}`];
    for (const path of drawn) {
      receiver.answer(path, { status: 200 });
      const config = { url: `${receiver.url}${path}`, onFailure: 'fail' };
      expect((await engine.call('PATCH', step, { config })).status).toBe(200);
    }
    const { version } = (await engine.call('GET', workflow)).body;
    expect((await retryOn(begun, version - 1)).status).toBe(200);
    await begun.until('WAITING');
    expect(drawn.map((path) => receiver.requests(path).length)).toEqual([1, 0]);
  });

  it('on which it is already changes nothing but its status', async () => {
    const begun = await failed(404);
    const answer = await retryOn(begun, begun.execution.workflowVersion);
    expect([answer.status, answer.body.status]).toEqual([200, 'RUNNING']);
    await begun.until('WAITING');
  });

  it('is refused where it cannot go on there, and changes nothing', async () => {
    const begun = await failed(404);
    const { workflowId, execution } = begun;
    const workflow = `/workflows/${workflowId}`;
    const unknown = [422, 'VALIDATION_ERROR', 'version not_found'];
    expect(refusal(await retryOn(begun, execution.workflowVersion + 1))).toEqual(unknown);
    expect(refusal(await retryOn(begun, 2 ** 40))).toEqual(unknown);
    const step = execution.stepExecutions[1]!.stepId;
    await engine.call('DELETE', `${workflow}/steps/${step}?splice=true`);
    const { version } = (await engine.call('GET', workflow)).body;
    expect(refusal(await retryOn(begun, version))).toEqual([
      422,
      'VALIDATION_ERROR',
      'version not_allowed',
    ]);
    await engine.call('PATCH', workflow, { enabled: false });
    await engine.call('POST', `${workflow}/steps`, { type: 'SEND_EMAIL', name: 'M', config: {} });
    const { version: broken } = (await engine.call('GET', workflow)).body;
    expect(refusal(await retryOn(begun, broken)).slice(0, 2)).toEqual([422, 'WORKFLOW_INVALID']);
    const { body: untouched } = await engine.call('GET', begun.path);
    expect([untouched.status, untouched.workflowVersion]).toEqual([
      'FAILED',
      execution.workflowVersion,
    ]);
  });
});

describe('what a retry makes of steps', () => {
  it('leaves those of other executions as they were', async () => {
    const other = await beginExecution(engine, {
      steps: [
        { type: 'DELAY', name: 'Delay', config: { amount: 30, unit: 'days' } },
        { type: 'EXIT', name: 'Exit' },
      ],
    });
    await other.until('WAITING');
    await engine.call('DELETE', other.path);
    const begun = await failed(404);
    expect((await retry(begun)).status).toBe(200);
    const { body } = await engine.call('GET', other.path);
    expect(body.stepExecutions.at(-1).status).toBe('SKIPPED');
  });
});
