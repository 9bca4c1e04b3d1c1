import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { transact } from '../../../db/database.ts';
import { enqueue } from '../../../db/outbox/outbox.ts';
import { executionRunId, deliveryRunId } from '../../../domain/runs/execution.ts';
import { feedbackMailboxIdOf, runIds } from '../../../domain/runs/runs.ts';
import { startFeedbackMailbox } from '../../../workflows/client/runs.ts';
import { act, createCampaign, insertContacts } from '../projects/campaigns.ts';
import type { Engine } from '../engine.ts';
import { askForJob, insertFailed } from './execution-jobs.ts';
import { beginOptIn } from './opt-in-cases.ts';
import { beginExecution, createContact, createWorkflow, startByHand } from './executions.ts';
import { newAddress } from '../projects/shop.ts';
import { importFile } from '../projects/upload.ts';
import { askForReplay, beginErasing, insertScheduled, subscribedTo } from './run-cases.ts';
import { waitFor } from '../wait-for.ts';

/** A run that continues as new. The recorded history ends with this event. */
export interface ContinuedCase {
  /**
   * Number of history events after which the server suggests to continue as new; in production
   * 4,096.
   */
  afterEvents: number;
  /** Plays the run until it has continued as new. Returns its id. */
  play(engine: Engine): Promise<string>;
}

/** Every kind of run that may continue as new because its history has become long. */
export const continuedHistoryCases: Record<string, ContinuedCase> = {
  'execution-continued': {
    afterEvents: 14,
    async play(engine) {
      const names = ['First', 'Second', 'Third'];
      const workflow = await createWorkflow(engine, {
        eventName: randomUUID(),
        steps: names.map((name) => ({
          type: 'WEBHOOK',
          name,
          // The sender refuses this address, and the refusal counts as an outcome.
          config: { url: 'http://[::1]/' },
        })),
        ways: [
          ['TRIGGER', 'First'],
          ['First', 'Second'],
          ['Second', 'Third'],
        ],
      });
      const contactId = await createContact(engine, newAddress());
      const runId = executionRunId(await startByHand(engine, workflow.id, contactId));
      return continued(engine, runId);
    },
  },
  'execution-moved-in-delay': {
    afterEvents: 4_096,
    play: (engine) => moved(engine, { type: 'DELAY', config: { amount: 30, unit: 'days' } }),
  },
  'execution-moved-in-wait': {
    afterEvents: 4_096,
    play: (engine) => moved(engine, { type: 'WAIT_FOR_EVENT', config: { eventName: 'clicked' } }),
  },
  // The first read of the mailbox fails.
  'feedback-mailbox-continued': {
    afterEvents: 30,
    async play(engine) {
      let looks = 0;
      const readUnseen = async () => {
        looks += 1;
        if (looks === 1) throw new Error('no such user');
        return { taken: 1, hasMore: false };
      };
      engine.services.feedbackMailbox = { mailbox: { readUnseen }, everyMs: 100 };
      const { temporal, taskQueue } = engine;
      await startFeedbackMailbox(temporal.client, taskQueue);
      await waitFor('the first look', async () => looks > 0);
      await startFeedbackMailbox(temporal.client, taskQueue, { isChanged: true });
      return continued(engine, feedbackMailboxIdOf(taskQueue));
    },
  },
  'delivery-queue-continued': {
    afterEvents: 14,
    play: (engine) =>
      continued(engine, deliveryRunId(engine.project.id), async () => {
        const to = newAddress();
        const mail = { to, from: `a@${engine.domain}`, subject: 'Hi', body: '<p>Hi</p>' };
        await engine.call('POST', '/v1/send', mail);
        await engine.mailsTo(to, 1);
      }),
  },
  'campaign-continued': {
    afterEvents: 14,
    async play(engine) {
      await insertContacts(engine, 1);
      const id = await createCampaign(engine);
      let hours = 1;
      return continued(engine, `campaign-${id}`, async () => {
        const scheduledFor = Date.now() + (hours += 1) * 3_600_000;
        await act(engine, id, 'send', { scheduledFor });
      });
    },
  },
  'domain-poller-continued': {
    afterEvents: 14,
    async play(engine) {
      const { body: domain } = await engine.call('POST', '/domains', {
        domain: `${randomUUID()}.test`,
      });
      const { db } = engine.api;
      return continued(engine, `domain-${domain.id}`, async () => {
        const input = { projectId: engine.project.id, domainId: domain.id, name: domain.domain };
        const summary = 'Checks of a sender domain';
        await transact(db, (tx) => enqueue(tx, { kind: 'domainPoller', input, summary }));
      });
    },
  },
  'ramp-continued': {
    afterEvents: 14,
    async play(engine) {
      const given = { domain: `${randomUUID()}.test`, startPerDay: 5, days: 3 };
      const { body: ramp } = await engine.call('POST', '/ramps', given);
      let paused = false;
      return continued(engine, `ramp-${ramp.id}`, async () => {
        paused = !paused;
        await engine.call('POST', `/ramps/${ramp.id}/${paused ? 'pause' : 'resume'}`);
      });
    },
  },
  'event-subscription-continued': {
    afterEvents: 14,
    async play(engine) {
      const { id } = await subscribedTo(engine);
      const path = `/event-subscriptions/${id}`;
      let paused = false;
      return continued(engine, `subscription-${id}`, async () => {
        paused = !paused;
        await engine.call('PATCH', path, { paused });
      });
    },
  },
  'event-replay-continued': {
    afterEvents: 8,
    async play(engine) {
      const { id } = await subscribedTo(engine);
      await engine.call('PATCH', `/event-subscriptions/${id}`, { paused: true });
      await sql`insert into event (project_id, name)
        select ${engine.project.id}, 'noted' from generate_series(1, 60000)`.execute(engine.api.db);
      const jobId = await askForReplay(engine, id);
      await interruptShift(engine, jobId);
      return continued(engine, jobId);
    },
  },
  'bulk-contacts-continued': {
    afterEvents: 8,
    async play(engine) {
      await insertContacts(engine, 40_000);
      const which = { mode: 'query', filter: {} };
      const { body } = await engine.call('POST', '/contacts/bulk-unsubscribe', which);
      await interruptShift(engine, body.jobId);
      return continued(engine, body.jobId);
    },
  },
  'contact-import-continued': {
    afterEvents: 8,
    async play(engine) {
      const rows = Array.from({ length: 40_000 }, () => newAddress());
      const jobId = await importFile(engine, `email\n${rows.join('\n')}\n`);
      await interruptShift(engine, jobId);
      return continued(engine, jobId);
    },
  },
  'contact-erasure-continued': {
    afterEvents: 14,
    async play(engine) {
      const { jobId } = await beginErasing(engine, { isUnderWay: true });
      return continued(engine, `erase-${jobId}`);
    },
  },
  'opt-in-continued': {
    afterEvents: 8,
    async play(engine) {
      const { runId, signal } = await beginOptIn(engine, {});
      return continued(engine, runId, signal);
    },
  },
  'execution-job-continued': {
    afterEvents: 14,
    async play(engine) {
      const workflow = await createWorkflow(engine, {
        eventName: randomUUID(),
        steps: [{ type: 'EXIT', name: 'Out', config: { reason: 'done' } }],
      });
      await insertFailed(engine, workflow, { step: 'Out', count: 300 });
      return continued(engine, await askForJob(engine, workflow.id, 'executions/retry-all'));
    },
  },
  'firing-continued': {
    afterEvents: 8,
    async play(engine) {
      await insertContacts(engine, 40_000);
      const input = await insertScheduled(engine);
      await transact(engine.api.db, (tx) =>
        enqueue(tx, { kind: 'firing', input, summary: 'Firing' }),
      );
      await interruptSlice(engine, () =>
        engine.api.db
          .selectFrom('firing')
          .where('workflow_id', '=', input.workflowId)
          .where('status', '=', 'RUNNING')
          .select('at')
          .executeTakeFirst(),
      );
      return continued(engine, runIds.firing(input));
    },
  },
  'project-reset-continued': { afterEvents: 14, play: (engine) => removed(engine, 'reset') },
  'project-delete-continued': { afterEvents: 14, play: (engine) => removed(engine, 'delete') },
};

/** Moves an execution to another version while it waits at a step. */
async function moved(
  engine: Engine,
  step: { type: string; config: Record<string, unknown> },
): Promise<string> {
  const { workflow, id, until } = await beginExecution(engine, {
    steps: [
      { ...step, name: 'Rest' },
      { type: 'EXIT', name: 'Exit' },
    ],
  });
  await until('WAITING');
  const path = `/workflows/${workflow.id}`;
  await engine.call('PATCH', `${path}/steps/${workflow.steps['Exit']}`, {
    config: { reason: 'moved' },
  });
  await engine.call('POST', `${path}/migrate`);
  return continued(engine, executionRunId(id));
}

/**
 * Repeats an action until the run of a workflow id has continued as new. Returns the workflow id.
 */
async function continued(
  { temporal }: Engine,
  workflowId: string,
  again: () => Promise<void> = async () => {},
): Promise<string> {
  await waitFor(
    `${workflowId} to go on`,
    async () => {
      await again();
      const latest = await temporal.client.workflow
        .getHandle(workflowId)
        .describe()
        .catch(() => null);
      const { firstRunId } = latest?.raw.workflowExecutionInfo ?? {};
      return latest && firstRunId && latest.runId !== firstRunId;
    },
    60_000,
  );
  return workflowId;
}

/** Stops a worker during a job's first time slice, so that another worker continues. */
const interruptShift = (engine: Engine, jobId: string) =>
  interruptSlice(engine, () =>
    engine.api.db
      .selectFrom('job')
      .where('id', '=', jobId)
      .where('state', '=', 'active')
      .select('id')
      .executeTakeFirst(),
  );

async function interruptSlice(engine: Engine, active: () => Promise<object | undefined>) {
  await waitFor('the work to begin', async () => (await active()) !== undefined);
  await engine.stopWorker();
  await engine.startWorker();
}

/** Creates a project, and resets or deletes it. */
async function removed(engine: Engine, removal: 'reset' | 'delete'): Promise<string> {
  const { api } = engine;
  const { cookie } = await api.signUp();
  const { id } = await api.createProject(cookie);
  const path = `/users/@me/projects/${id}`;
  await (removal === 'reset'
    ? api.request('POST', `${path}/reset`, { cookie })
    : api.request('DELETE', path, { cookie }));
  return continued(engine, `project-${removal}-${id}`);
}
