import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { claimDueEmails } from '../../../db/emails/emails.ts';
import { recordEvents } from '../../../db/transactions/events/record-events.ts';
import { cancelExecutions } from '../../../db/transactions/executions/cancel-executions.ts';
import { insertExecution } from '../../../db/transactions/executions/start-execution.ts';
import { enqueueExecutions } from '../../../db/outbox/outbox.ts';
import { ensureSweep } from '../../../workflows/client/schedule.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { tasksOf, sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';
import { dropContacts } from '../../support/mail-tables.ts';

/** Every row is committed by a process that dies before it can tell Temporal. */

const engine = await useEngine();

async function mailingWorkflow(eventName: string) {
  return createWorkflow(engine, {
    eventName,
    steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId: await createTemplate(engine) }],
  });
}

function waitingWorkflow(eventName: string) {
  return createWorkflow(engine, {
    eventName,
    steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked' } }],
  });
}

function recordQuietly(contactId: string, name: string) {
  return engine.api.db
    .transaction()
    .execute((tx) =>
      recordEvents(tx, engine.project.id, [{ contactId, name, data: { quiet: true } }]),
    );
}

/** Starts a run that waits for its event. */
async function waitingExecution(eventName: string) {
  const workflow = await waitingWorkflow(eventName);
  const contactId = await createContact(engine, newAddress());
  const id = await startByHand(engine, workflow.id, contactId);
  await executionIn(engine, workflow.id, id, 'WAITING');
  return { workflow, contactId, id };
}

/** Returns true if the outbox has no entry for the run of an execution. */
async function isTold(id: string): Promise<boolean> {
  const left = engine.api.db.selectFrom('outbox').select('run_id');
  return (await left.where('run_id', '=', `execution-${id}`).execute()).length === 0;
}

const described = (executionId: string) =>
  engine.temporal.client.workflow.getHandle(`execution-${executionId}`).describe();

describe('the sweep', () => {
  it('is scheduled for each task queue, also where several installations share a namespace', async () => {
    const { client } = engine.temporal;
    const queues = ['a', 'b'].map((name) => `${name}-${randomUUID()}`);
    for (const queue of [...queues, ...queues]) await ensureSweep(client, queue);
    for (const queue of queues) {
      const schedule = client.schedule.getHandle(`sweep-${queue}`);
      const { action } = await schedule.describe();
      expect(action).toMatchObject({ taskQueue: queue, workflowId: `sweep-${queue}` });
      await schedule.delete();
    }
  });

  it('starts what was committed and not started, once, however many sweep at once', async () => {
    const workflow = await mailingWorkflow('forgotten start');
    const email = newAddress();
    const contactId = await createContact(engine, email);
    await recordQuietly(contactId, 'forgotten start');
    const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions`);
    const [{ id }] = body.executions;
    await Promise.all([sweepNow(engine), sweepNow(engine), sweepNow(engine)]);
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions).toHaveLength(2);
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
    await waitFor('the run to be noted', async () => {
      const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions/${id}`);
      return body.temporalRunId === (await described(id)).runId;
    });
  });

  it('records a start that was not recorded before the run had ended', async () => {
    const workflow = await mailingWorkflow('unnoted start');
    const email = newAddress();
    const contactId = await createContact(engine, email);
    const id = await startByHand(engine, workflow.id, contactId);
    await executionIn(engine, workflow.id, id, 'COMPLETED');
    const { runId } = await described(id);
    const row = () =>
      engine.api.db
        .selectFrom('execution')
        .select('temporal_run_id')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    await waitFor('the start to be noted', async () => (await row()).temporal_run_id === runId);
    await engine.api.db
      .updateTable('execution')
      .set({ temporal_run_id: null })
      .where('id', '=', id)
      .execute();
    await engine.api.db
      .transaction()
      .execute((tx) => enqueueExecutions(tx, 'start', [{ id, project_id: engine.project.id }]));
    await sweepNow(engine);
    await waitFor('the run to be noted', async () => (await row()).temporal_run_id === runId);
    await waitFor('an empty outbox', () => isTold(id));
    expect((await described(id)).runId).toBe(runId);
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });

  it('wakes a run whose event was not signalled', async () => {
    const { workflow, contactId, id } = await waitingExecution('forgotten event');
    await recordQuietly(contactId, 'clicked');
    await sweepNow(engine);
    const done = await executionIn(engine, workflow.id, id, 'COMPLETED');
    expect(done.stepExecutions[1].output).toMatchObject({ waitOutcome: 'EVENT' });
    expect(done.context).toMatchObject({ quiet: true });
  });

  it('stops a run whose cancellation was not sent', async () => {
    const { id } = await waitingExecution('forgotten cancel');
    await engine.api.db.transaction().execute((tx) => cancelExecutions(tx, [id], 'cancelled'));
    await sweepNow(engine);
    await waitFor('a closed run', async () => (await described(id)).status.name === 'CANCELLED');
  });

  it('stops the run of an execution that was deleted with its contact', async () => {
    const { contactId, id } = await waitingExecution('forgotten deletion');
    await dropContacts(engine.api.db, sql<boolean>`contact.id = ${contactId}`);
    await sweepNow(engine);
    await waitFor('a closed run', async () => (await described(id)).status.name === 'CANCELLED');
    await waitFor('an empty outbox', () => isTold(id));
  });

  it('signals the others when one cannot be signalled', async () => {
    const workflow = await waitingWorkflow('one too large');
    const { db } = engine.api;
    // Temporal takes at most 2 MB, so this start is refused each time.
    await sql`update workflow set name = repeat('x', 2500000) where id = ${workflow.id}`.execute(
      db,
    );
    const insert = async (workflowId: string) => {
      const contactId = await createContact(engine, newAddress());
      return db.transaction().execute((tx) =>
        insertExecution(tx, {
          projectId: engine.project.id,
          workflowId,
          contactId,
          context: null,
          causedBy: 'key:secret',
        }),
      );
    };
    const good = await waitingWorkflow('the others');
    await insert(workflow.id);
    for (let count = 0; count < 120; count += 1) await insert(good.id);
    await sweepNow(engine);
    await waitFor('120 others', async () => {
      const { body } = await engine.call('GET', `/workflows/${good.id}/executions?status=WAITING`);
      return body.total === 120;
    });
    await db.deleteFrom('workflow').where('id', '=', workflow.id).execute();
  }, 60_000);

  it('delivers mail without a delivery run', async () => {
    await engine.stopWorker();
    const email = newAddress();
    const sent = { to: email, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    // The signal is lost with its run.
    await engine.call('POST', '/v1/send', sent);
    const delivery = engine.temporal.client.workflow.getHandle(`delivery-${engine.project.id}`);
    await waitFor('a delivery', () => delivery.describe().catch(() => null));
    await delivery.terminate('It is lost.');
    await engine.startWorker();
    await sweepNow(engine);
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });
});

describe('a message whose outcome is unknown', () => {
  // A task of a stopping worker counts as lost only after its timeout.
  const afterLostTask = { timeout: 60_000 };

  /** Inserts a message with unknown outcome: its process died before or after the handover. */
  async function uncertain() {
    const { db } = engine.api;
    const email = newAddress();
    await engine.stopWorker();
    const { body } = await engine.call('POST', '/v1/send', {
      to: email,
      from: `a@${engine.domain}`,
      subject: 'Hi',
      body: '<p>Hi</p>',
    });
    const claim = { projectId: engine.project.id, attemptId: randomUUID(), max: 10 };
    const claimed = await claimDueEmails(db, { ...claim, leaseSeconds: 0, throttled: false });
    expect(claimed.map(({ id }) => id)).toEqual([body.data.emails[0].email]);
    await engine.startWorker();
    return { email, id: claimed[0]!.id };
  }

  const settle = (settleMinutes: number, unknownPolicy: 'fail' | 'resend') =>
    tasksOf(engine.api, { settleMinutes, unknownPolicy }).SETTLE_UNCERTAIN();

  const rowOf = (id: string) =>
    engine.api.db
      .selectFrom('email')
      .select(['status', 'error', 'attempts'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();

  it('waits for the settle time and then fails as delivery_unknown', afterLostTask, async () => {
    const { email, id } = await uncertain();
    // Neither the sweep nor the delivery run may send it again.
    await settle(15, 'fail');
    await sweepNow(engine);
    const other = newAddress();
    const more = { to: other, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    await engine.call('POST', '/v1/send', more);
    await engine.mailsTo(other, 1, 40_000);
    expect(await rowOf(id)).toEqual({ status: 'SENDING', error: null, attempts: 1 });
    await settle(0, 'fail');
    expect(await rowOf(id)).toEqual({ status: 'FAILED', error: 'delivery_unknown', attempts: 1 });
    expect(await engine.mailsTo(email, 0)).toEqual([]);
  });

  it('is sent once more where the operator prefers a double to a loss', afterLostTask, async () => {
    const { email, id } = await uncertain();
    await settle(15, 'resend');
    expect((await rowOf(id)).status).toBe('SENDING');
    await settle(0, 'resend');
    await sweepNow(engine);
    expect(await engine.mailsTo(email, 1, 40_000)).toHaveLength(1);
    const row = await waitFor('a settled row', async () => {
      const current = await rowOf(id);
      return current.status === 'DELIVERED' && current;
    });
    expect(row).toEqual({ status: 'DELIVERED', error: null, attempts: 2 });
  });

  it('is given up after eight attempts, whatever the operator prefers', afterLostTask, async () => {
    const { id } = await uncertain();
    await engine.api.db.updateTable('email').set({ attempts: 8 }).where('id', '=', id).execute();
    await settle(0, 'resend');
    expect(await rowOf(id)).toEqual({ status: 'FAILED', error: 'delivery_unknown', attempts: 8 });
  });
});
