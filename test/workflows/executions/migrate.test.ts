import { bySecretKey } from '../../support/actors.ts';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  askForJob,
  countStatuses,
  endOfExecutionJob,
} from '../../support/histories/execution-jobs.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
  type StepPlan,
} from '../../support/histories/executions.ts';
import { insertContacts } from '../../support/projects/campaigns.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });
const { db } = engine.api;

const nothing = { migrated: 0, unchanged: 0, unmappable: 0, cancelled: 0, finished: 0 };
const mark: StepPlan = {
  type: 'UPDATE_CONTACT',
  name: 'Mark',
  config: { updates: { marked: true } },
};
const delay: StepPlan = { type: 'DELAY', name: 'Wait', config: { amount: 2, unit: 'days' } };
const exit: StepPlan = { type: 'EXIT', name: 'Out', config: { reason: 'done' } };

/**
 * Starts executions that wait in a delay. Returns functions that edit the workflow and migrate
 * them.
 */
async function waiting(count: number, steps: StepPlan[] = [mark, delay, exit]) {
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps });
  const path = `/workflows/${workflow.id}`;
  const ids: string[] = [];
  const start = async () => {
    const contactId = await createContact(engine, newAddress());
    ids.push(await startByHand(engine, workflow.id, contactId));
    return ids.at(-1)!;
  };
  for (let begun = 0; begun < count; begun++) {
    await executionIn(engine, workflow.id, await start(), 'WAITING');
  }
  return {
    ...workflow,
    path,
    ids,
    start,
    version: async () => (await engine.call('GET', path)).body.version as number,
    edit: (name: string, change: object) =>
      engine.call('PATCH', `${path}/steps/${workflow.steps[name]}`, change),
    remove: (name: string) =>
      engine.call('DELETE', `${path}/steps/${workflow.steps[name]}?splice=true`),
    /** Inserts a step that marks the contact. */
    async insertBetween(from: string, to: string) {
      const { body } = await engine.call('GET', path);
      const way = body.transitions.find(
        (one: { fromStepId: string; toStepId: string }) =>
          one.fromStepId === workflow.steps[from] && one.toStepId === workflow.steps[to],
      );
      const made = await engine.call('POST', `${path}/transitions/${way.id}/insert-step`, {
        type: 'UPDATE_CONTACT',
        name: 'Inserted',
        config: { updates: { inserted: true } },
      });
      if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    },
    async migrate(body: object = {}) {
      const jobId = await askForJob(engine, workflow.id, 'migrate', body);
      return endOfExecutionJob(engine, workflow.id, jobId, 60_000);
    },
    moveWaits: (body: object) =>
      askForJob(engine, workflow.id, `steps/${workflow.steps['Wait']}/move-waits`, body),
    refused: async (body: object) => refusal(await engine.call('POST', `${path}/migrate`, body)),
    read: async (id = ids[0]!) => (await engine.call('GET', `${path}/executions/${id}`)).body,
    until: (status: string, id = ids[0]!) => executionIn(engine, workflow.id, id, status, 20_000),
  };
}

const stepNames = (execution: { stepExecutions: { step: { name: string }; status: string }[] }) =>
  execution.stepExecutions.map(({ step, status }) => `${step.name} ${status}`);

describe('POST /workflows/{id}/migrate', () => {
  it('moves those who wait to the version with an inserted step, which they run', async () => {
    const two = await waiting(2);
    const before = await two.version();
    await two.insertBetween('Wait', 'Out');
    const to = await two.version();
    const job = await two.migrate();
    expect(job).toEqual({
      id: expect.stringMatching(`^migration-${engine.project.id}-[0-9a-f-]{36}$`),
      state: 'completed',
      progress: 100,
      data: {
        projectId: engine.project.id,
        workflowId: two.id,
        operation: 'migrate',
        stepId: null,
        totalRequested: 2,
      },
      result: { ...nothing, migrated: 2 },
      failedReason: null,
      causedBy: bySecretKey,
      createdAt: expect.any(String),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
    });
    const run = engine.temporal.client.workflow.getHandle(`execution-${two.ids[0]}`);
    await waitFor('the run to say where it is', async () => {
      const { currentDetails } = await run.query<{ currentDetails: string }>(
        '__temporal_workflow_metadata',
      );
      return currentDetails.startsWith(`Moved to v${to}. At "Wait", until `);
    });
    await two.moveWaits({ shiftBySeconds: -864_000 });
    for (const id of two.ids) {
      const ended = await two.until('EXITED', id);
      expect(ended.workflowVersion).toBe(to);
      expect(stepNames(ended)).toEqual([
        expect.stringContaining('COMPLETED'),
        'Mark COMPLETED',
        'Wait COMPLETED',
        'Inserted COMPLETED',
        'Out COMPLETED',
      ]);
      const { body } = await engine.call('GET', `${two.path}/executions/${id}/history`);
      expect(body.entries).toContainEqual(
        expect.objectContaining({
          stepId: null,
          from: `v${before}`,
          to: `v${to}`,
          detail: { jobId: job.id },
        }),
      );
      const runs = body.entries.filter(
        (entry: { stepName: string; to: string }) =>
          entry.stepName === 'Mark' && entry.to === 'RUNNING',
      );
      expect(runs).toHaveLength(1);
    }
    const found = await engine.call('GET', `${two.path}/jobs/${job.id}`);
    expect(found.body).toEqual(job);
    expect((await engine.call('GET', `/contacts/bulk/${job.id}`)).status).toBe(404);
  });

  it('counts those who are there already as unchanged', async () => {
    const one = await waiting(1);
    await one.edit('Out', { name: 'Renamed' });
    expect((await one.migrate()).result).toEqual({ ...nothing, migrated: 1 });
    expect((await one.migrate()).result).toEqual({ ...nothing, unchanged: 1 });
    const from = [(await one.version()) - 1];
    expect((await one.migrate({ from })).result).toEqual(nothing);
    const executionIds = [one.ids[0], randomUUID()];
    expect((await one.migrate({ executionIds })).result).toEqual({ ...nothing, unchanged: 1 });
    expect((await one.migrate({ executionIds: [randomUUID()] })).result).toEqual(nothing);
  });

  it('leaves those at a step that is gone, or cancels them', async () => {
    const two = await waiting(2);
    const before = await two.version();
    await two.remove('Wait');
    expect((await two.migrate()).result).toEqual({ ...nothing, unmappable: 2 });
    const stayed = await two.read();
    expect([stayed.status, stayed.workflowVersion]).toEqual(['WAITING', before]);
    const executionIds = [two.ids[1]];
    const named = await two.migrate({ executionIds });
    expect(named.result).toEqual({ ...nothing, unmappable: 1 });
    const job = await two.migrate({ onUnmappable: 'cancel' });
    expect(job.result).toEqual({ ...nothing, cancelled: 2 });
    const cancelled = await two.read();
    expect([cancelled.status, cancelled.exitReason]).toEqual(['CANCELLED', 'cancelled']);
    expect((await two.migrate({ executionIds })).result).toEqual({ ...nothing, finished: 1 });
  });

  it('goes to the step that the mapping names', async () => {
    const one = await waiting(1);
    await one.insertBetween('Wait', 'Out');
    const { body } = await engine.call('POST', `${one.path}/steps`, {
      type: 'DELAY',
      name: 'Other',
      config: { amount: 1, unit: 'days' },
      autoConnect: false,
    });
    await one.remove('Wait');
    const mapping = { [one.steps['Wait']!]: body.id };
    expect((await one.migrate({ mapping })).result).toEqual({ ...nothing, migrated: 1 });
    const { currentStep, status } = await one.read();
    expect([currentStep.name, status]).toEqual(['Other', 'WAITING']);
    expect(await one.refused({ mapping: { [one.steps['Wait']!]: randomUUID() } })).toEqual([
      422,
      'VALIDATION_ERROR',
      `mapping.${one.steps['Wait']} not_found`,
    ]);
  });

  it('keeps the end of a delay when the mapping lets two delays change places', async () => {
    const first: StepPlan = { ...delay, name: 'First' };
    const one = await waiting(1, [mark, first, delay, exit]);
    const [id] = one.ids;
    const shift = { shiftBySeconds: -864_000 };
    await askForJob(engine, one.id, `steps/${one.steps['First']}/move-waits`, shift);
    await waitFor('the second delay', async () => {
      const { currentStep, status } = await one.read();
      return currentStep.name === 'Wait' && status === 'WAITING';
    });
    await one.edit('Out', { name: 'Renamed' });
    const [a, b] = [one.steps['First']!, one.steps['Wait']!];
    const { result } = await one.migrate({ mapping: { [a]: b, [b]: a } });
    expect(result).toEqual({ ...nothing, migrated: 1 });
    const { currentStep, status } = await one.read();
    expect([currentStep.name, status]).toEqual(['First', 'WAITING']);
    const { rows } = await sql<{ hours: number }>`
      select extract(epoch from scheduled_for - now()) / 3600 as hours from step_execution
        where execution_id = ${id} and status = 'SCHEDULED'`.execute(db);
    expect(rows.map(({ hours }) => Math.round(hours))).toEqual([48]);
    await askForJob(engine, one.id, `steps/${a}/move-waits`, shift);
    await one.until('EXITED');
  });

  it('moves only those of the versions and ids that are given', async () => {
    const three = await waiting(2);
    const first = await three.version();
    await three.edit('Out', { name: 'Second' });
    await three.until('WAITING', await three.start());
    await three.edit('Out', { name: 'Third' });
    const named = { from: [first], executionIds: three.ids.slice(1) };
    expect((await three.migrate(named)).result).toEqual({ ...nothing, migrated: 1 });
    const versions = await Promise.all(three.ids.map((id) => three.read(id)));
    expect(versions.map(({ workflowVersion }) => workflowVersion - first)).toEqual([0, 2, 1]);
    expect((await three.migrate({ from: [first + 1] })).result).toEqual({
      ...nothing,
      migrated: 1,
    });
    // Back, too.
    const back = await three.migrate({ to: first });
    expect(back.result).toEqual({ ...nothing, migrated: 2, unchanged: 1 });
  });

  it('waits for a step at work, and moves the execution right after it', async () => {
    let answer = () => {};
    const until = new Promise<void>((resolve) => (answer = resolve));
    const path = `/${randomUUID()}`;
    receiver.answer(path, { status: 200, until });
    const url = `${receiver.url}${path}`;
    const one = await waiting(0, [{ type: 'WEBHOOK', name: 'Call', config: { url } }, delay, exit]);
    const before = await one.version();
    const id = await one.start();
    await waitFor('the call', () => receiver.requests(path).length === 1);
    await one.insertBetween('Call', 'Wait');
    const jobId = await askForJob(engine, one.id, 'migrate');
    const job = async () => (await engine.call('GET', `${one.path}/jobs/${jobId}`)).body;
    await waitFor('the job to have come to it', async () => {
      const row = await db
        .selectFrom('execution')
        .select('move_job_id')
        .where('id', '=', id)
        .executeTakeFirst();
      return row?.move_job_id === jobId;
    });
    expect([(await job()).state, (await one.read(id)).workflowVersion]).toEqual(['active', before]);
    answer();
    const resting = await one.until('WAITING', id);
    expect(stepNames(resting).slice(1)).toEqual([
      'Call COMPLETED',
      'Inserted COMPLETED',
      'Wait COMPLETED',
      'Out SCHEDULED',
    ]);
    const ended = await endOfExecutionJob(engine, one.id, jobId);
    expect(ended.result).toEqual({ ...nothing, migrated: 1 });
    expect(receiver.requests(path)).toHaveLength(1);
  });

  it('refuses what cannot be', async () => {
    const { refused, path } = await waiting(0);
    const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];
    expect(await refused({ to: 99 })).toEqual(invalid('to not_found'));
    expect(await refused({ to: 2 ** 40 })).toEqual(invalid('to not_found'));
    expect(await refused({ from: [1, 99] })).toEqual(invalid('from.1 not_found'));
    expect(await refused({ executionIds: [] })).toEqual(invalid('executionIds too_small'));
    expect(await refused({ onUnmappable: 'guess' })).toEqual(
      invalid('onUnmappable invalid_enum_value'),
    );
    await engine.call('PATCH', path, { enabled: false });
    await engine.call('POST', `${path}/steps`, { type: 'SEND_EMAIL', name: 'M', config: {} });
    expect((await refused({})).slice(0, 2)).toEqual([422, 'WORKFLOW_INVALID']);
  });

  it('moves 220 in pages, each once', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'contact.unsubscribed',
      steps: [delay, exit],
    });
    const [address = ''] = await insertContacts(engine, 220);
    const filter = { search: address.slice(0, 8) };
    await engine.call('POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter });
    await waitFor(
      'all to wait',
      async () => (await countStatuses(engine, workflow.id))['WAITING'] === 220,
      60_000,
    );
    const path = `/workflows/${workflow.id}`;
    await engine.call('PATCH', `${path}/steps/${workflow.steps['Out']}`, { name: 'Later' });
    const jobId = await askForJob(engine, workflow.id, 'migrate');
    const job = await endOfExecutionJob(engine, workflow.id, jobId, 60_000);
    expect(job.result).toEqual({ ...nothing, migrated: 220 });
    const rows = await db
      .selectFrom('execution')
      .select(['workflow_version', 'earlier_versions'])
      .distinct()
      .where('workflow_id', '=', workflow.id)
      .execute();
    const { version } = (await engine.call('GET', path)).body;
    expect(rows).toEqual([{ workflow_version: version, earlier_versions: [version - 1] }]);
    await engine.call('PATCH', path, { enabled: false });
  }, 120_000);
});
