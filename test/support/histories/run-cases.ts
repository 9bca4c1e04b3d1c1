import { randomUUID } from 'node:crypto';
import { transact } from '../../../db/database.ts';
import { enqueue } from '../../../db/outbox/outbox.ts';
import { runIds } from '../../../domain/runs/runs.ts';
import { plannedInstants } from '../../../domain/time/cron.ts';
import { deliveryRunId } from '../../../domain/runs/execution.ts';
import { campaignHistoryCases } from './campaign-cases.ts';
import type { Engine } from '../engine.ts';
import { optInHistoryCases } from './opt-in-cases.ts';
import { insertBacklog } from '../projects/mails.ts';
import { askForJob, endOfExecutionJob, insertFailed } from './execution-jobs.ts';
import { createWorkflow } from './executions.ts';
import { newAddress } from '../projects/shop.ts';
import { endOfJob, importFile } from '../projects/upload.ts';
import { waitFor } from '../wait-for.ts';
import { writeMail } from '../mail-tables.ts';

/**
 * The runs whose histories are recorded in `test/histories/runs/`: at least one of each kind,
 * except executions of customers' workflows. A case plays a run and returns its id; the history is
 * recorded when the run has ended.
 */
export const runHistoryCases: Record<string, (engine: Engine) => Promise<string>> = {
  'contact-import': (engine) =>
    ended(engine, importFile(engine, `email\n${randomUUID()}@x.test\n`)),
  'contact-import-failed': (engine) => ended(engine, importFile(engine, 'name\nAda\n')),
  'bulk-contacts': async (engine) => {
    const which = { mode: 'query', filter: {} };
    const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', which);
    return ended(engine, body.jobId);
  },
  // The job reads its executions in two pages, with a pause between them.
  'execution-job': async (engine) => {
    const workflow = await createWorkflow(engine, {
      eventName: randomUUID(),
      steps: [{ type: 'EXIT', name: 'Out', config: { reason: 'done' } }],
    });
    await insertFailed(engine, workflow, { step: 'Out', count: 60 });
    const jobId = await askForJob(engine, workflow.id, 'executions/retry-all');
    await endOfExecutionJob(engine, workflow.id, jobId);
    return jobId;
  },
  // The case is the run that writes the schedule to Temporal.
  'workflow-schedule': async (engine) =>
    `keep-schedule-${(await insertScheduled(engine)).workflowId}`,
  // The audience is every contact, in one page.
  firing: async (engine) => {
    const input = await insertScheduled(engine);
    await transact(engine.api.db, (tx) =>
      enqueue(tx, { kind: 'firing', input, summary: 'Firing' }),
    );
    await waitFor('the firing', async () => {
      const { body } = await engine.call('GET', `/workflows/${input.workflowId}/firings`);
      return body.firings.length > 0;
    });
    return runIds.firing(input);
  },
  // The domain is verified, fails, is signalled and is removed.
  'domain-poller': async (engine) => {
    const { body: domain } = await engine.call('POST', '/domains', {
      domain: `${randomUUID()}.test`,
    });
    const { db } = engine.api;
    await waitFor('a check', async () => {
      const row = await db
        .selectFrom('domain')
        .select('last_checked_at')
        .where('id', '=', domain.id)
        .executeTakeFirst();
      return row?.last_checked_at;
    });
    const failed = { status: 'failed', next_check_at: null };
    await db.updateTable('domain').set(failed).where('id', '=', domain.id).execute();
    const runId = `domain-${domain.id}`;
    const input = { projectId: engine.project.id, domainId: domain.id, name: domain.domain };
    const summary = 'Checks of a sender domain';
    await transact(db, (tx) => enqueue(tx, { kind: 'domainPoller', input, summary }));
    const handle = engine.temporal.client.workflow.getHandle(runId);
    await waitFor('the run to have looked', async () => {
      const { events } = await handle.fetchHistory();
      return (events?.filter((event) => event.timerStartedEventAttributes).length ?? 0) > 1;
    });
    await engine.call('DELETE', `/domains/${domain.id}`);
    return runId;
  },
  // The ramp is paused, resumed and deleted.
  ramp: async (engine) => {
    const given = { domain: `${randomUUID()}.test`, startPerDay: 5, days: 3 };
    const { body: ramp } = await engine.call('POST', '/ramps', given);
    const runId = `ramp-${ramp.id}`;
    const looked = (times: number) =>
      waitFor('the run to have looked', async () => {
        const handle = engine.temporal.client.workflow.getHandle(runId);
        // The run may not exist yet, because it is signalled after the response.
        const history = await handle.fetchHistory().catch(() => null);
        const ended = history?.events?.filter(
          (event) => event.activityTaskCompletedEventAttributes,
        );
        return (ended?.length ?? 0) >= times;
      });
    await looked(1);
    await engine.call('POST', `/ramps/${ramp.id}/pause`);
    await looked(2);
    await engine.call('POST', `/ramps/${ramp.id}/resume`);
    await looked(3);
    await engine.call('DELETE', `/ramps/${ramp.id}`);
    return runId;
  },
  // The run delivers one mail, and ends after an idle minute.
  'delivery-queue': async (engine) => {
    const to = newAddress();
    const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    await engine.call('POST', '/v1/send', mail);
    await engine.mailsTo(to, 1);
    return deliveryRunId(engine.project.id);
  },
  // Several activities deliver a backlog in parallel, and the run ends after an idle minute.
  'parallel-deliveries': async (engine) => {
    await insertBacklog(engine, 3_500);
    const to = newAddress();
    const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
    await engine.call('POST', '/v1/send', mail);
    await engine.mailsTo(to, 1, 120_000);
    return deliveryRunId(engine.project.id);
  },
  sweep: async (engine) => {
    const { workflowId } = await engine.temporal.client.workflow.start('sweep', {
      taskQueue: engine.taskQueue,
      workflowId: `sweep-${randomUUID()}`,
      args: [],
    });
    return workflowId;
  },
  // The delivery of one event fails. Then the subscription is deleted.
  'event-subscription': async (engine) => {
    const { id } = await subscribedTo(engine);
    await engine.call('POST', '/v1/track', { event: 'noted', email: newAddress() });
    await waitFor('an attempt', async () => {
      const { body } = await engine.call('GET', `/event-subscriptions/${id}/deliveries`);
      return body.data[0]?.attempts.length > 0;
    });
    await engine.call('DELETE', `/event-subscriptions/${id}`);
    return `subscription-${id}`;
  },
  // The replay reads its events in one page.
  'event-replay': async (engine) => {
    const { id } = await subscribedTo(engine);
    await engine.call('POST', '/v1/track', { event: 'noted', email: newAddress() });
    const jobId = await askForReplay(engine, id);
    await waitFor('the end of the replay', async () => {
      const { body } = await engine.call('GET', `/event-subscriptions/${id}/replay/${jobId}`);
      return body.state === 'completed';
    });
    await engine.call('DELETE', `/event-subscriptions/${id}`);
    return jobId;
  },
  // Each task of the erasure is done in one page, without pauses.
  'contact-erasure': (engine) => erased(engine, { isUnderWay: false }),
  // The run waits while a mail is being given to the mail provider, until the outcome is recorded.
  'contact-erasure-waits': (engine) => erased(engine, { isUnderWay: true }),
  'project-reset': (engine) => removed(engine, 'reset'),
  'project-delete': (engine) => removed(engine, 'delete'),
  ...optInHistoryCases,
  ...campaignHistoryCases,
};

/** Erases a contact with a mail. Returns the id of the run. */
async function erased(engine: Engine, { isUnderWay }: { isUnderWay: boolean }): Promise<string> {
  const { jobId, handOver } = await beginErasing(engine, { isUnderWay });
  const stateOf = async () => (await engine.call('GET', `/erasures/${jobId}`)).body.state;
  if (isUnderWay) {
    await waitFor('the run to wait', async () => (await stateOf()) === 'active');
    await handOver();
  }
  await waitFor('the erasure', async () => (await stateOf()) === 'completed');
  return `erase-${jobId}`;
}

/**
 * Begins to erase a contact with a mail. With `isUnderWay`, the mail is being given to the mail
 * provider, and the run waits until `handOver` records the outcome.
 */
export async function beginErasing(engine: Engine, { isUnderWay }: { isUnderWay: boolean }) {
  const to = newAddress();
  const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
  const { body } = await engine.call('POST', '/v1/send', mail);
  await engine.mailsTo(to, 1);
  const [{ email: id, contact }] = body.data.emails;
  const setStatus = (status: string, leaseUntil: Date | null) =>
    writeMail(engine.api.db, (tx) =>
      tx
        .updateTable('email')
        .set({ status, lease_until: leaseUntil })
        .where('id', '=', id)
        .execute(),
    );
  if (isUnderWay) await setStatus('SENDING', new Date(Date.now() + 60_000));
  const begun = await engine.call('POST', `/contacts/${contact.id}/erase`);
  return {
    jobId: begun.body.jobId as string,
    handOver: () => setStatus('DELIVERED', null),
  };
}

/** Creates a subscription to an address without a server. */
export async function subscribedTo(engine: Engine): Promise<{ id: string }> {
  const given = { url: 'http://nobody.invalid/', events: ['noted'] };
  const { body } = await engine.call('POST', '/event-subscriptions', given);
  engine.api.log.mustNotTell(body.secret);
  return body;
}

/** Requests a replay of the last hour. Returns the job's id. */
export async function askForReplay(engine: Engine, id: string): Promise<string> {
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const { body } = await engine.call('POST', `/event-subscriptions/${id}/replay`, { from });
  return body.jobId;
}

async function ended(engine: Engine, job: string | Promise<string>): Promise<string> {
  const jobId = await job;
  await endOfJob(engine, jobId);
  return jobId;
}

/** Creates a project with a contact, and resets or deletes it. */
async function removed({ api, temporal }: Engine, removal: 'reset' | 'delete'): Promise<string> {
  const { cookie } = await api.signUp();
  const { id, secretKey } = await api.createProject(cookie);
  await api.request('POST', '/contacts', { key: secretKey, body: { email: 'ada@x.test' } });
  const path = `/users/@me/projects/${id}`;
  await (removal === 'reset'
    ? api.request('POST', `${path}/reset`, { cookie })
    : api.request('DELETE', path, { cookie }));
  const runId = `project-${removal}-${id}`;
  const handle = temporal.client.workflow.getHandle(runId);
  await waitFor('the run', () => handle.describe().catch(() => null));
  return runId;
}

/** Inserts a workflow that should have fired within the last quarter of an hour. */
export async function insertScheduled(engine: Engine) {
  const steps = [{ type: 'EXIT', name: 'Out', config: { reason: 'done' } }];
  const { id: workflowId } = await createWorkflow(engine, { eventName: randomUUID(), steps });
  const triggerConfig = { cron: '*/15 * * * *', timeZone: 'UTC' };
  const trigger = { triggerType: 'SCHEDULE', triggerConfig };
  await engine.call('PATCH', `/workflows/${workflowId}`, trigger);
  const [at = new Date()] = plannedInstants(triggerConfig, new Date(Date.now() - 900_001), 1);
  await engine.api.db
    .updateTable('workflow_schedule')
    .set({ next_at: at })
    .where('workflow_id', '=', workflowId)
    .execute();
  return { projectId: engine.project.id, workflowId, at: at.toISOString() };
}
