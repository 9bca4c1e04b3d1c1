import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import {
  beginExecution,
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();

const waitStep = (timeout?: number) => ({
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName: 'clicked', ...(timeout ? { timeout } : {}) },
});
const exit = (name: string) => ({ type: 'EXIT', name, config: { reason: name } });

describe('a journey', () => {
  it('starts by a tracked event and sends its mail', async () => {
    const email = newAddress();
    const templateId = await createTemplate(engine);
    const workflow = await createWorkflow(engine, {
      eventName: 'mailed',
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    const tracked = await engine.call('POST', '/v1/track', {
      email,
      event: 'mailed',
      data: { name: 'Ada' },
    });
    expect(tracked.status).toBe(200);
    const [mail] = await engine.mailsTo(email, 1);
    expect(mail!.subject).toBe('Hello Ada');

    const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
    const done = await executionIn(engine, workflow.id, body.executions[0].id, 'COMPLETED');
    expect(done).toMatchObject({ currentStepId: null, exitReason: null, error: null });
    expect(done.context).toEqual({ name: 'Ada' });
    expect(done.stepExecutions).toMatchObject([
      { status: 'COMPLETED', output: { triggered: true, eventName: 'mailed' } },
      { status: 'COMPLETED', output: { emailId: mail!.id, recipientType: 'CONTACT' } },
    ]);
    const run = await waitFor('the run to be noted', async () => {
      const { body: again } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
      return again.executions[0].temporalRunId as string | null;
    });
    const handle = engine.temporal.client.workflow.getHandle(done.temporalWorkflowId, run);
    const closed = await waitFor('the run to be closed', async () => {
      const described = await handle.describe();
      return described.status.name === 'RUNNING' ? null : described;
    });
    expect([closed.type, closed.status.name]).toEqual(['customerWorkflow', 'COMPLETED']);
    expect(await closed.staticSummary()).toBe(`Journey v${done.workflowVersion}`);
  });

  it('ends where its exit says', async () => {
    const { until } = await beginExecution(engine, { eventName: 'exits', steps: [exit('enough')] });
    const done = await until('EXITED');
    expect(done.exitReason).toBe('enough');
    expect(done.stepExecutions[0].output.eventName).toBe('manual');
  });

  it('waits in a delay with the next step scheduled, and is cancelled for good', async () => {
    const { workflow, path, until } = await beginExecution(engine, {
      eventName: 'delays',
      steps: [{ type: 'DELAY', name: 'Pause', config: { amount: 2, unit: 'days' } }, exit('after')],
    });
    const waiting = await until('WAITING');
    expect(waiting.currentStepId).toBe(workflow.steps['Pause']);
    const [, delay, next] = waiting.stepExecutions;
    expect(delay).toMatchObject({ status: 'COMPLETED', output: { delayAmount: 2 } });
    expect(next).toMatchObject({ status: 'SCHEDULED', scheduledFor: delay.output.resumeAt });

    const cancelled = await engine.call('DELETE', path);
    expect(cancelled.body).toMatchObject({ status: 'CANCELLED', exitReason: 'cancelled' });
    await waitFor('the run to be closed', async () => {
      const handle = engine.temporal.client.workflow.getHandle(waiting.temporalWorkflowId);
      return (await handle.describe()).status.name === 'CANCELLED';
    });
    const { body: after } = await engine.call('GET', path);
    expect(after.stepExecutions[2].status).toBe('SKIPPED');
    expect((await engine.call('DELETE', path)).body.error.code).toBe('EXECUTION_NOT_ACTIVE');
  });

  it.each([
    ['EVENT', 'by event'],
    ['TIMEOUT', 'by time-out'],
  ])('goes on from a wait by its %s', async (result, way) => {
    const email = newAddress();
    const contact = await createContact(engine, email);
    const workflow = await createWorkflow(engine, {
      eventName: `waits ${result}`,
      steps: [waitStep(result === 'EVENT' ? 60 : 1), exit('by event'), exit('by time-out')],
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'by event', 'event'],
        ['Wait', 'by time-out', 'timeout'],
      ],
    });
    // Recorded before the wait began, so it does not count.
    await engine.call('POST', '/v1/track', { email, event: 'clicked', data: { n: 0 } });
    const id = await startByHand(engine, workflow.id, contact, { source: 'ad' });
    await executionIn(engine, workflow.id, id, 'WAITING');
    if (result === 'EVENT') {
      await engine.call('POST', '/v1/track', { email, event: 'clicked', data: { n: 1 } });
    }
    const done = await executionIn(engine, workflow.id, id, 'EXITED');
    expect(done.exitReason).toBe(way);
    expect(done.stepExecutions[1].output).toMatchObject({ waitOutcome: result });
    expect(done.context).toEqual(result === 'EVENT' ? { source: 'ad', n: 1 } : { source: 'ad' });
  });

  it('completes where a wait leads nowhere', async () => {
    const { until } = await beginExecution(engine, {
      eventName: 'nowhere',
      steps: [waitStep(1), exit('by event')],
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'by event', 'event'],
      ],
    });
    await until('COMPLETED');
  });

  it('keeps marketing mail from an unsubscribed contact and goes on', async () => {
    const email = newAddress();
    const templateId = await createTemplate(engine, { type: 'MARKETING' });
    const workflow = await createWorkflow(engine, {
      eventName: 'marketing',
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    const contact = await createContact(engine, email, { subscribed: false });
    const id = await startByHand(engine, workflow.id, contact);
    await executionIn(engine, workflow.id, id, 'COMPLETED');
    const rows = await engine.api.db
      .selectFrom('email')
      .select(['status', 'error'])
      .where('workflow_execution_id', '=', id)
      .execute();
    expect(rows).toEqual([{ status: 'FAILED', error: 'contact_unsubscribed' }]);
  });

  it('fails with a sentence, in the record and in Temporal, when its sender is gone', async () => {
    const templateId = await createTemplate(engine);
    const workflow = await createWorkflow(engine, {
      eventName: 'fails',
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
    await engine.api.db
      .updateTable('template')
      .set({ from_email: 'team@elsewhere.test' })
      .where('id', '=', templateId)
      .execute();
    const contact = await createContact(engine, newAddress());
    const id = await startByHand(engine, workflow.id, contact);
    const failed = await executionIn(engine, workflow.id, id, 'FAILED');
    expect(failed.error).toContain('elsewhere.test');
    expect(failed.stepExecutions[1]).toMatchObject({ status: 'FAILED', error: failed.error });
    const result = engine.temporal.client.workflow.result(failed.temporalWorkflowId);
    await expect(result).rejects.toMatchObject({
      cause: { message: expect.stringContaining('Step "Mail" failed') },
    });
  });

  it('runs on the graph it began with', async () => {
    const { workflow, email, until } = await beginExecution(engine, {
      eventName: 'frozen',
      steps: [waitStep(), exit('old')],
      ways: [
        ['TRIGGER', 'Wait'],
        ['Wait', 'old'],
      ],
    });
    await until('WAITING');
    const gone = await engine.call(
      'DELETE',
      `/workflows/${workflow.id}/steps/${workflow.steps['old']}`,
    );
    expect(gone.status).toBe(204);
    await engine.call('POST', '/v1/track', { email, event: 'clicked' });
    expect((await until('EXITED')).exitReason).toBe('old');
  });
});

describe('a failed execution', () => {
  it('goes on at its failed step when tried again, and earlier steps run once', async () => {
    const email = newAddress();
    const templateId = await createTemplate(engine);
    const broken = await createTemplate(engine, { subject: 'Second' });
    const workflow = await createWorkflow(engine, {
      eventName: 'retried',
      steps: [
        { type: 'SEND_EMAIL', name: 'First', templateId },
        { type: 'SEND_EMAIL', name: 'Second', templateId: broken },
      ],
    });
    const sender = (from: string) =>
      engine.api.db
        .updateTable('template')
        .set({ from_email: from })
        .where('id', '=', broken)
        .execute();
    await sender('team@elsewhere.test');
    const contact = await createContact(engine, email);
    const id = await startByHand(engine, workflow.id, contact);
    const failed = await executionIn(engine, workflow.id, id, 'FAILED');
    await sender(`team@${engine.domain}`);

    const path = `/workflows/${workflow.id}/executions/${id}`;
    const again = await engine.call('POST', `${path}/retry`);
    expect(again.body).toMatchObject({ status: 'RUNNING', error: null, completedAt: null });
    expect(again.body.temporalRunId).not.toBe(failed.temporalRunId);
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions).toHaveLength(3);
    const mails = await engine.mailsTo(email, 2);
    // Mail that is due at once is handed over together, in any order.
    expect(mails.map((mail) => mail.subject).toSorted()).toEqual(['Hello you', 'Second']);
    expect((await engine.call('POST', `${path}/retry`)).body.error.code).toBe(
      'EXECUTION_NOT_FAILED',
    );

    const { body: history } = await engine.call('GET', `${path}/history`);
    const changes = history.entries.map((entry: Record<string, string>) => [
      entry['stepName'],
      entry['to'],
    ]);
    expect(changes).toEqual([
      [null, 'RUNNING'],
      ['Trigger: retried', 'COMPLETED'],
      ['First', 'RUNNING'],
      ['First', 'COMPLETED'],
      ['Second', 'RUNNING'],
      ['Second', 'FAILED'],
      [null, 'FAILED'],
      [null, 'RUNNING'],
      ['Second', 'RUNNING'],
      ['Second', 'COMPLETED'],
      [null, 'COMPLETED'],
    ]);
  });
});
