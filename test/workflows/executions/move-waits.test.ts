import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
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

const engine = await useEngine();
const { db } = engine.api;

const delay: StepPlan = { type: 'DELAY', name: 'Wait', config: { amount: 10, unit: 'days' } };
const event = (config: object = {}): StepPlan => ({
  type: 'WAIT_FOR_EVENT',
  name: 'Wait',
  config: { eventName: 'never', ...config },
});
const exit: StepPlan = { type: 'EXIT', name: 'Out', config: { reason: 'done' } };

async function waitingIn(step: StepPlan, contacts: object[] = [{}]) {
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), steps: [step, exit] });
  const ids: string[] = [];
  for (const contact of contacts) {
    const contactId = await createContact(engine, newAddress(), contact);
    ids.push(await startByHand(engine, workflow.id, contactId));
  }
  for (const id of ids) await executionIn(engine, workflow.id, id, 'WAITING');
  const path = `steps/${workflow.steps['Wait']}/move-waits`;
  return {
    ...workflow,
    ids,
    refused: async (body: object) =>
      refusal(await engine.call('POST', `/workflows/${workflow.id}/${path}`, body)),
    async move(body: object) {
      const jobId = await askForJob(engine, workflow.id, path, body);
      return endOfExecutionJob(engine, workflow.id, jobId, 60_000);
    },
    async shown(id = ids[0]) {
      const { body } = await engine.call('GET', `/workflows/${workflow.id}/executions/${id}`);
      return { status: body.status, steps: body.stepExecutions };
    },
  };
}

describe('move-waits', () => {
  it('lets 410 that wait in a delay go on, each to its next step once', async () => {
    const workflow = await createWorkflow(engine, {
      eventName: 'contact.unsubscribed',
      steps: [delay, exit],
    });
    await insertContacts(engine, 410);
    await engine.call('POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter: {} });
    const statuses = (wanted: object) =>
      waitFor(
        JSON.stringify(wanted),
        async () =>
          JSON.stringify(await countStatuses(engine, workflow.id)) === JSON.stringify(wanted),
        90_000,
      );
    await statuses({ WAITING: 410 });
    const path = `steps/${workflow.steps['Wait']}/move-waits`;
    const jobId = await askForJob(engine, workflow.id, path, { shiftBySeconds: -864_000 });
    const job = await endOfExecutionJob(engine, workflow.id, jobId, 60_000);
    expect(job).toMatchObject({
      id: expect.stringMatching(`^move-waits-${engine.project.id}-[0-9a-f-]{36}$`),
      state: 'completed',
      progress: 100,
      data: {
        workflowId: workflow.id,
        operation: 'move-waits',
        stepId: workflow.steps['Wait'],
        totalRequested: 410,
      },
      result: { moved: 410, skipped: 0 },
    });
    await statuses({ EXITED: 410 });
    const { rows } = await sql<{ begun: number }>`
      select distinct (select count(*)::int from jsonb_array_elements(step.history) as change
          where change ->> 'to' = 'RUNNING') as begun
        from step_execution step join execution on execution.id = step.execution_id
        where execution.workflow_id = ${workflow.id}
          and step.step_id = ${workflow.steps['Out']}`.execute(db);
    expect(rows).toEqual([{ begun: 1 }]);
    await engine.call('PATCH', `/workflows/${workflow.id}`, { enabled: false });
  }, 180_000);

  it('moves only those whose contact meets the filter', async () => {
    const waiting = await waitingIn(delay, [{ data: { plan: 'pro' } }, { data: { plan: 'free' } }]);
    const filter = {
      logic: 'AND',
      groups: [{ filters: [{ field: 'data.plan', operator: 'equals', value: 'pro' }] }],
    };
    const { result } = await waiting.move({ until: '2020-01-01T00:00:00Z', filter });
    expect(result).toEqual({ moved: 1, skipped: 0 });
    await executionIn(engine, waiting.id, waiting.ids[0]!, 'EXITED');
    expect((await waiting.shown(waiting.ids[1])).status).toBe('WAITING');
  });

  it('moves only those of a version, also at a step that is drawn no more', async () => {
    const waiting = await waitingIn(delay);
    const path = `/workflows/${waiting.id}`;
    const { version } = (await engine.call('GET', path)).body;
    await engine.call('PATCH', `${path}/steps/${waiting.steps['Wait']}`, { name: 'Renamed' });
    const contactId = await createContact(engine, newAddress());
    const later = await startByHand(engine, waiting.id, contactId);
    await executionIn(engine, waiting.id, later, 'WAITING');
    await engine.call('DELETE', `${path}/steps/${waiting.steps['Wait']}?splice=true`);
    const job = await waiting.move({ shiftBySeconds: -864_000, versions: [version] });
    expect(job.result).toEqual({ moved: 1, skipped: 0 });
    await executionIn(engine, waiting.id, waiting.ids[0]!, 'EXITED');
    expect((await waiting.shown(later)).status).toBe('WAITING');
    // Without executions on any version, the deleted step no longer belongs to the workflow.
    await engine.call('DELETE', `${path}/executions/${later}`);
    expect(await waiting.refused({ forever: true })).toEqual([404, 'STEP_NOT_FOUND']);
  });

  it('moves waits for an event, to a time or for ever; one without end is not shifted', async () => {
    const waiting = await waitingIn(event({ timeout: 60 }));
    expect((await waiting.move({ until: '2099-01-01T00:00:00Z' })).result.moved).toBe(1);
    expect((await waiting.shown()).steps[1].executeAfter).toBe('2099-01-01T00:00:00.000Z');
    expect((await waiting.move({ forever: true })).result).toEqual({ moved: 1, skipped: 0 });
    expect((await waiting.shown()).steps[1].executeAfter).toBeNull();
    const shifted = await waiting.move({ shiftBySeconds: -60 });
    expect(shifted.result).toEqual({ moved: 0, skipped: 1 });
    expect((await waiting.shown()).status).toBe('WAITING');
    expect((await waiting.move({ until: '2020-01-01T00:00:00Z' })).result.moved).toBe(1);
    await executionIn(engine, waiting.id, waiting.ids[0]!, 'EXITED');
    // It does not wait any more.
    expect((await waiting.move({ forever: true })).result).toEqual({ moved: 0, skipped: 0 });
  });

  it('refuses what cannot be', async () => {
    const waiting = await waitingIn(delay);
    const { refused } = waiting;
    const invalid = (...fields: string[]) => [422, 'VALIDATION_ERROR', ...fields];
    expect(await refused({})).toEqual(invalid('until required'));
    expect(await refused({ forever: true })).toEqual(invalid('forever not_allowed'));
    const two = { until: '2030-01-01T00:00:00Z', shiftBySeconds: 1 };
    expect(await refused(two)).toEqual(invalid('shiftBySeconds not_allowed'));
    expect(await refused({ shiftBySeconds: 400_000_000 })).toEqual(
      invalid('shiftBySeconds too_big'),
    );
    expect(await refused({ shiftBySeconds: 1, versions: [99] })).toEqual(
      invalid('versions.0 not_found'),
    );
    const member = { field: `segment.${randomUUID()}`, operator: 'memberOfSegment' };
    const filter = { logic: 'AND', groups: [{ filters: [member] }] };
    expect(await refused({ shiftBySeconds: 1, filter })).toEqual(
      invalid('filter.groups.0.filters.0.field not_found'),
    );
    const at = async (stepId: string) =>
      refusal(
        await engine.call('POST', `/workflows/${waiting.id}/steps/${stepId}/move-waits`, {
          shiftBySeconds: 1,
        }),
      );
    expect(await at(randomUUID())).toEqual([404, 'STEP_NOT_FOUND']);
    for (const step of ['TRIGGER', 'Out']) {
      expect(await at(waiting.steps[step]!)).toEqual(invalid('stepId not_allowed'));
    }
  });
});
