import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { errorFields, useWorkflowApi } from '../../support/projects/workflow-api.ts';

/** A dry run shows the effect of an edit on live executions. */

const { api, projectId, call, make, createWorkflow, addDelay, read } = await useWorkflowApi();
const { db } = api;

async function dryRun(id: string, given: object = {}) {
  const { status, body } = await call('POST', `/workflows/${id}/dry-run`, given);
  expect([status, body.error]).toEqual([200, undefined]);
  return body.data;
}

/** Creates an enabled workflow of a delay and an end, with `count` executions in the delay. */
async function withWaiting(count: number) {
  const { id } = await createWorkflow();
  const delay = await addDelay(id);
  const end = await make(`/workflows/${id}/steps`, { type: 'EXIT', name: 'End', config: {} });
  await call('PATCH', `/workflows/${id}`, { triggerConfig: { eventName: 'e' }, enabled: true });
  const { version, transitions } = await read(id);
  for (let n = 0; n < count; n += 1) {
    const contact = await make('/contacts', { email: `${crypto.randomUUID()}@people.test` });
    await make(`/workflows/${id}/executions`, { contactId: contact.id });
  }
  await sql`update execution set status = 'WAITING', current_step_id = ${delay.id}
    where workflow_id = ${id}`.execute(db);
  return { id, version, delay, end, ways: transitions };
}

describe('a dry run', () => {
  it('shows how an edit would change the path of open executions, and changes nothing', async () => {
    const { id, version, delay, ways } = await withWaiting(2);
    const counted = { version, active: 2, same: 0, differs: 0, unmappable: 0 };
    const unchanged = await dryRun(id);
    expect(unchanged).toMatchObject({ to: version, versions: [{ ...counted, same: 2 }] });
    expect(unchanged.examples[0]).toMatchObject({ verdict: 'same', why: null });
    // A new name of a step is no difference.
    await call('PATCH', `/workflows/${id}/steps/${delay.id}`, { name: 'Other' });
    expect((await dryRun(id)).versions).toEqual([{ ...counted, same: 2 }]);

    const way = ways.find(({ fromStepId }: { fromStepId: string }) => fromStepId === delay.id);
    const inserted = { type: 'DELAY', name: 'More', config: { amount: 1, unit: 'days' } };
    await make(`/workflows/${id}/transitions/${way.id}/insert-step`, inserted);
    const longer = await dryRun(id, { examples: 1 });
    expect(longer.versions).toEqual([{ ...counted, differs: 2 }]);
    expect(longer.steps).toEqual([
      { stepId: delay.id, name: delay.name, waiting: 2, mapsTo: delay.id, reason: 'same_id' },
    ]);
    expect(longer.examples).toEqual([
      {
        executionId: expect.any(String),
        contactId: expect.any(String),
        version,
        currentStepId: delay.id,
        verdict: 'differs',
        why: 'next_step',
      },
    ]);
    // Compared with an earlier version, all is the same.
    expect((await dryRun(id, { to: version })).versions).toEqual([{ ...counted, same: 2 }]);
    const config = { amount: 9, unit: 'days' };
    await call('PATCH', `/workflows/${id}/steps/${delay.id}`, { config });
    expect((await dryRun(id)).examples[0].why).toBe('config');

    await call('DELETE', `/workflows/${id}/steps/${delay.id}?splice=true`);
    const without = await dryRun(id);
    expect(without.versions).toEqual([{ ...counted, unmappable: 2 }]);
    expect(without.steps[0]).toMatchObject({ mapsTo: null, reason: 'step_gone' });
    expect(without.examples[0]).toMatchObject({ verdict: 'unmappable', why: 'step_gone' });
    const { rows } = await sql`select distinct workflow_version, current_step_id, status
      from execution where workflow_id = ${id}`.execute(db);
    expect(rows).toEqual([
      { workflow_version: version, current_step_id: delay.id, status: 'WAITING' },
    ]);
  });

  it('compares with a proposed graph, by a mapping', async () => {
    const { id, version, delay } = await withWaiting(1);
    const graph = {
      steps: [
        { id: 't', type: 'TRIGGER', name: 'T', config: {} },
        { id: 'd', type: 'DELAY', name: 'D', config: delay.config },
        { id: 'x', type: 'WAIT_FOR_EVENT', name: 'X', config: { eventName: 'y' } },
      ],
      transitions: [
        { fromStepId: 't', toStepId: 'd' },
        { fromStepId: 'd', toStepId: 'x' },
      ],
    };
    const counted = { version, active: 1, same: 0, differs: 0, unmappable: 0 };
    expect(await dryRun(id, { graph })).toMatchObject({
      to: null,
      versions: [{ ...counted, unmappable: 1 }],
    });
    const mapped = await dryRun(id, { graph, mapping: { [delay.id]: 'd' } });
    expect(mapped.versions).toEqual([{ ...counted, differs: 1 }]);
    expect(mapped.steps[0]).toMatchObject({ mapsTo: 'd', reason: 'mapping' });
    const changed = await dryRun(id, { graph, mapping: { [delay.id]: 'x' } });
    expect(changed.steps[0]).toMatchObject({ mapsTo: null, reason: 'type_changed' });
    const exitRules = [{ eventName: 'e', reason: 'r' }];
    const { steps, transitions } = await read(id);
    const same = { steps, transitions };
    expect((await dryRun(id, { graph: same })).versions).toEqual([{ ...counted, same: 1 }]);
    const leaving = await dryRun(id, { graph: { ...same, exitRules } });
    expect(leaving.examples[0]).toMatchObject({ verdict: 'differs', why: 'exit_rules' });
  });

  it('takes hidden header values of a proposed graph for those that are stored', async () => {
    const { id, version, end } = await withWaiting(0);
    const hook = { url: 'https://x.example/', headers: { Authorization: 'Bearer clear' } };
    const step = { type: 'WEBHOOK', name: 'Call', config: hook, autoConnect: false };
    const { id: stepId } = await make(`/workflows/${id}/steps`, step);
    await call('DELETE', `/workflows/${id}/steps/${end.id}`);
    const { steps: drawn } = await read(id);
    const last = drawn.find(({ type }: { type: string }) => type === 'DELAY');
    await make(`/workflows/${id}/transitions`, { fromStepId: last.id, toStepId: stepId });
    const contact = await make('/contacts', { email: `${crypto.randomUUID()}@people.test` });
    await make(`/workflows/${id}/executions`, { contactId: contact.id });
    await sql`update execution set status = 'WAITING', current_step_id = ${last.id}
      where workflow_id = ${id}`.execute(db);
    const { steps, transitions, version: newest } = await read(id);
    expect(newest).toBeGreaterThan(version);
    expect(JSON.stringify(steps)).not.toContain('clear');
    const [counted] = (await dryRun(id, { graph: { steps, transitions } })).versions;
    expect(counted).toMatchObject({ version: newest, same: 1 });
    const other = JSON.parse(JSON.stringify(steps).replace('•••', 'Bearer other'));
    const [changed] = (await dryRun(id, { graph: { steps: other, transitions } })).versions;
    expect(changed).toMatchObject({ version: newest, differs: 1 });
  });

  it('counts only the versions that it is asked for, and refuses what there is not', async () => {
    const { id, version } = await withWaiting(1);
    expect((await dryRun(id, { from: [version] })).versions).toHaveLength(1);
    if (version > 1) expect((await dryRun(id, { from: [1] })).versions).toEqual([]);
    const refused = async (given: object) => {
      const { status, body } = await call('POST', `/workflows/${id}/dry-run`, given);
      return [status, ...errorFields(body)];
    };
    expect(await refused({ to: 99 })).toEqual([422, 'to not_found']);
    expect(await refused({ from: [99] })).toEqual([422, 'from.0 not_found']);
    expect(await refused({ mapping: { a: 'b' } })).toEqual([422, 'mapping.a not_found']);
    const { body: nobody } = await call('POST', `/workflows/${projectId}/dry-run`, {});
    expect(nobody.error.code).toBe('WORKFLOW_NOT_FOUND');
  });
});
