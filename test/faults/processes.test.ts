import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { deliveryRunId } from '../../domain/runs/execution.ts';
import { useEngine } from '../support/engine.ts';
import {
  createTemplate,
  createWorkflow,
  executionIn,
  type WorkflowPlan,
} from '../support/histories/executions.ts';
import { useApiProcess, useWorkerProcess } from '../support/processes/processes.ts';
import { temporalAddress } from '../support/servers.ts';
import { newAddress } from '../support/projects/shop.ts';
import { useSmtpSink } from '../support/fakes/smtp-sink.ts';
import { sweepNow } from '../support/sweep-now.ts';
import { useTcpProxy, type TcpProxy } from '../support/fakes/tcp-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { writeMail } from '../support/mail-tables.ts';

/** Kills real processes of Everpost at the worst moments. */

describe('an API process that is killed', async () => {
  const engine = await useEngine();
  let line: TcpProxy;
  beforeEach(async () => {
    line = await useTcpProxy(temporalAddress());
  });

  async function mailing(eventName: string, more: Partial<WorkflowPlan> = {}) {
    const templateId = await createTemplate(engine);
    return createWorkflow(engine, {
      ...more,
      eventName,
      steps: [{ type: 'SEND_EMAIL', name: 'Mail', templateId }],
    });
  }

  const executionsOf = (workflowId: string) =>
    engine.api.db
      .selectFrom('execution')
      .leftJoin('outbox', (join) =>
        join.on(sql<boolean>`outbox.run_id = 'execution-' || execution.id`),
      )
      .select(['execution.id', 'outbox.action as due', 'temporal_run_id'])
      .where('workflow_id', '=', workflowId)
      .execute();

  it('between commit and start leaves its executions to the sweep', async () => {
    const workflow = await mailing('killed before');
    const api = await useApiProcess(engine, { TEMPORAL_ADDRESS: line.address });
    line.mode = 'silent';
    const emails = Array.from({ length: 10 }, newAddress);
    for (const email of emails) {
      const { status } = await api.call('POST', '/v1/track', { email, event: 'killed before' });
      expect(status).toBe(200);
    }
    await api.kill();
    const before = await executionsOf(workflow.id);
    expect(before.map(({ due }) => due)).toEqual(emails.map(() => 'start'));

    await Promise.all([sweepNow(engine), sweepNow(engine)]);
    for (const { id } of before) await executionIn(engine, workflow.id, id, 'COMPLETED');
    for (const email of emails) expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });

  it('between start and the note of it leaves one run and one mail each', async () => {
    const workflow = await mailing('killed after');
    const api = await useApiProcess(engine, { TEMPORAL_ADDRESS: line.address });
    // The first start opens the connection, so that the next ones are sent at once.
    const emails = Array.from({ length: 6 }, newAddress);
    const track = (email: string) =>
      api.call('POST', '/v1/track', { email, event: 'killed after' });
    await track(emails[0]!);
    await engine.mailsTo(emails[0]!, 1);
    await waitFor('the first note', async () =>
      (await executionsOf(workflow.id)).every(({ due }) => due === null),
    );
    line.mode = 'deaf';
    for (const email of emails.slice(1)) expect((await track(email)).status).toBe(200);
    // At least one start has reached Temporal; the others waited for its response.
    await engine.mailsTo(emails[1]!, 1);
    await api.kill();
    const before = await executionsOf(workflow.id);
    expect(before.filter(({ due }) => due === 'start')).toHaveLength(5);

    await sweepNow(engine);
    const noted = await waitFor('all starts to be noted', async () => {
      const rows = await executionsOf(workflow.id);
      return rows.every(({ due }) => due === null) && rows;
    });
    for (const { id, temporal_run_id: runId } of noted) {
      const run = await engine.temporal.client.workflow.getHandle(`execution-${id}`).describe();
      expect(run.runId).toBe(runId);
      await executionIn(engine, workflow.id, id, 'COMPLETED');
    }
    for (const email of emails) expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });

  it('among 20 events of one key leaves one execution of the key', async () => {
    const plan = { executionKey: 'event.orderId' };
    const workflow = await mailing('killed among keys', plan);
    const api = await useApiProcess(engine, { TEMPORAL_ADDRESS: line.address });
    const email = newAddress();
    const order = { email, event: 'killed among keys', data: { orderId: 1 } };
    const sent = Array.from({ length: 20 }, () => api.call('POST', '/v1/track', order));
    await Promise.any(sent);
    await api.kill();
    await Promise.allSettled(sent);
    const again = Array.from({ length: 20 }, () => engine.call('POST', '/v1/track', order));
    for (const { status } of await Promise.all(again)) expect(status).toBe(200);

    await sweepNow(engine);
    const [{ id } = { id: '' }, ...others] = await executionsOf(workflow.id);
    expect(others).toEqual([]);
    expect((await executionIn(engine, workflow.id, id, 'COMPLETED')).key).toBe('1');
    expect(await engine.mailsTo(email, 1)).toHaveLength(1);
  });
});

describe('a worker process that ends', async () => {
  const sink = await useSmtpSink();
  const smtp = {
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(sink.port),
    // Slow enough to be killed while it works.
    EMAIL_RATE_LIMIT_PER_SECOND: '200',
    EMAIL_RATE_PER_PROJECT_PER_SECOND: '200',
  };
  const engine = await useEngine(smtp, { worker: false });

  const worker = () => useWorkerProcess(engine, smtp);

  async function send(count: number): Promise<string[]> {
    const to = Array.from({ length: count }, newAddress);
    const mail = { from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    for (let at = 0; at < count; at += 100) {
      const answer = await engine.call('POST', '/v1/send', { ...mail, to: to.slice(at, at + 100) });
      expect(answer.status).toBe(200);
    }
    return to;
  }

  /** Ends the delivery run, as Temporal does after missed heartbeats of the killed worker. */
  const loseDelivery = () =>
    engine.temporal.client.workflow
      .getHandle(deliveryRunId(engine.project.id))
      .terminate('Its worker was killed.');

  const statuses = async () => {
    const { db } = engine.api;
    const rows = await db.selectFrom('email').select(['to_email', 'status']).execute();
    return new Map(rows.map((row) => [row.to_email, row.status]));
  };

  it('killed in the middle of journeys leaves each step and each mail to happen once', async () => {
    const templateId = await createTemplate(engine);
    const workflow = await createWorkflow(engine, {
      eventName: 'interrupted',
      steps: [
        { type: 'SEND_EMAIL', name: 'First', templateId },
        { type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'clicked', timeout: 1 } },
        { type: 'SEND_EMAIL', name: 'Second', templateId },
        { type: 'WAIT_FOR_EVENT', name: 'Wait on', config: { eventName: 'clicked' } },
        { type: 'SEND_EMAIL', name: 'Third', templateId },
      ],
    });
    const emails = Array.from({ length: 20 }, newAddress);
    const first = await worker();
    for (const email of emails) {
      await engine.call('POST', '/v1/track', { email, event: 'interrupted' });
    }
    // Killed while some mails are sent and others are not.
    await waitFor('a first mail', () => emails.some((email) => sink.countTo(email) > 0));
    const second = await worker();
    await first.kill();
    // While the waits time out and the second mails leave.
    await waitFor('a second mail', () => emails.some((email) => sink.countTo(email) > 1), 60_000);
    await second.kill();
    for (const email of emails) {
      await engine.call('POST', '/v1/track', { email, event: 'clicked' });
    }
    await worker();

    const { db } = engine.api;
    await waitFor(
      'all journeys to end',
      async () => {
        const rows = db.selectFrom('execution').select('status');
        const ends = await rows.where('workflow_id', '=', workflow.id).execute();
        return ends.every(({ status }) => status === 'COMPLETED');
      },
      90_000,
    );
    const steps = await db
      .selectFrom('step_execution as step')
      .innerJoin('execution', 'execution.id', 'step.execution_id')
      .select(['step.status', 'step.step_id'])
      .where('execution.workflow_id', '=', workflow.id)
      .execute();
    expect(steps).toHaveLength(emails.length * 6);
    expect(new Set(steps.map(({ status }) => status))).toEqual(new Set(['COMPLETED']));
    const settled = async () => {
      await sweepNow(engine);
      const mails = await db.selectFrom('email').select(['to_email', 'status']).execute();
      return mails.every(({ status }) => status !== 'PENDING') && mails;
    };
    const rows = await waitFor('all mail to be settled or uncertain', settled, 60_000);
    expect(rows).toHaveLength(emails.length * 3);
    // Each mail is handed over once; if the kill hit its handover, at most once.
    for (const email of emails) {
      const own = rows.filter(({ to_email: to }) => to === email);
      const delivered = own.filter(({ status }) => status === 'SENT').length;
      const unknown = own.filter(({ status }) => status === 'SENDING').length;
      expect(delivered + unknown).toBe(3);
      expect(sink.countTo(email)).toBeGreaterThanOrEqual(delivered);
      expect(sink.countTo(email)).toBeLessThanOrEqual(3);
    }
    await writeMail(db, (tx) => tx.deleteFrom('email').execute());
  }, 180_000);

  it('killed during a delay and started after its end leaves the next step to happen once', async () => {
    const templateId = await createTemplate(engine);
    const { id } = await createWorkflow(engine, {
      eventName: 'slept',
      steps: [
        { type: 'DELAY', name: 'Rest', config: { amount: 1, unit: 'minutes' } },
        { type: 'SEND_EMAIL', name: 'After', templateId },
      ],
    });
    // Two seconds: the API takes no delay below a minute.
    const { db } = engine.api;
    await sql`update workflow_version set
      graph = replace(graph::text, '"amount": 1}', '"amount": 0.0333}')::jsonb
      where workflow_id = ${id}`.execute(db);
    const email = newAddress();
    const first = await worker();
    await engine.call('POST', '/v1/track', { email, event: 'slept' });
    const after = await waitFor('the delay', () =>
      db
        .selectFrom('step_execution as step')
        .innerJoin('execution', 'execution.id', 'step.execution_id')
        .select(['step.id', 'step.scheduled_for'])
        .where('execution.workflow_id', '=', id)
        .where('step.status', '=', 'SCHEDULED')
        .executeTakeFirst(),
    );
    await first.kill();
    await waitFor('the end of the delay', () => after.scheduled_for!.getTime() < Date.now());
    expect(sink.countTo(email)).toBe(0);
    await worker();
    await waitFor('the mail', () => sink.countTo(email) > 0, 60_000);
    const ended = () =>
      db
        .selectFrom('execution')
        .select('id')
        .where('workflow_id', '=', id)
        .where('status', '=', 'COMPLETED')
        .executeTakeFirst();
    await waitFor('the end of the journey', ended, 60_000);
    expect(sink.countTo(email)).toBe(1);
    await writeMail(db, (tx) => tx.deleteFrom('email').execute());
  }, 120_000);

  it('asked to stop in the middle of a batch hands over what it has claimed, and no more', async () => {
    const to = await send(600);
    const first = await worker();
    await waitFor('the delivery to be under way', () => to.some((email) => sink.countTo(email)));
    expect(await first.stop()).toBe('exit code 0');
    const left = await statuses();
    // All work is consistent, and some work is left.
    expect(new Set(left.values())).toEqual(new Set(['SENT', 'PENDING']));
    for (const email of to) {
      expect([email, sink.countTo(email)]).toEqual([email, left.get(email) === 'SENT' ? 1 : 0]);
    }
    await worker();
    await sweepNow(engine);
    await waitFor('all mail', () => to.every((email) => sink.countTo(email) > 0), 60_000);
    expect(to.filter((email) => sink.countTo(email) !== 1)).toEqual([]);
  }, 120_000);

  it('killed when the provider has accepted and the row does not say so never sends again', async () => {
    const { db } = engine.api;
    const to = await send(20);
    // The lock prevents the recording of the outcome.
    await db.transaction().execute(async (tx) => {
      await tx.selectFrom('contact').select('id').where('email', 'in', to).forUpdate().execute();
      const first = await worker();
      await waitFor('the handover', () => to.every((email) => sink.countTo(email) === 1));
      await first.kill();
    });
    const second = await worker();
    await loseDelivery();
    await sweepNow(engine);
    // Later mail is not blocked by them.
    const [later] = await send(1);
    await waitFor('the later mail', () => sink.countTo(later!) === 1);
    const now = await statuses();
    expect(to.map((email) => now.get(email))).toEqual(to.map(() => 'SENDING'));
    await second.stop();

    await writeMail(db, (tx) =>
      tx
        .updateTable('email')
        .set({ lease_until: new Date(0) })
        .where('status', '=', 'SENDING')
        .execute(),
    );
    await useWorkerProcess(engine, { ...smtp, DELIVERY_SETTLE_MINUTES: '0' });
    await sweepNow(engine);
    const settled = await db
      .selectFrom('email')
      .select(['status', 'error'])
      .where('to_email', 'in', to)
      .execute();
    expect(settled).toEqual(to.map(() => ({ status: 'FAILED', error: 'delivery_unknown' })));
    expect(to.map((email) => sink.countTo(email))).toEqual(to.map(() => 1));
  }, 120_000);
});
