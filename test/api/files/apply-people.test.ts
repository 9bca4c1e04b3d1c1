import { beforeAll, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { waitFor } from '../../support/wait-for.ts';

const engine = await useEngine();
const { call } = engine;

const steps = {
  wait: '  - {key: wait, type: DELAY, name: Wait, config: {amount: AMOUNT, unit: days}}\n',
  pause: '  - {key: pause, type: DELAY, name: Pause, config: {amount: 9, unit: days}}\n',
  note: '  - {key: note, type: UPDATE_CONTACT, name: Note, config: {updates: {seen: true}}}\n',
};

/** A workflow whose first step is given. */
const workflow = (first: 'wait' | 'pause', days = 2) => `name: Onboarding
enabled: true
trigger: {type: EVENT, config: {eventName: joined}}
steps:
${steps[first].replace('AMOUNT', String(days))}${steps.note}transitions:
  - {from: trigger, to: ${first}}
  - {from: ${first}, to: note}
`;

async function apply(text: string, more: object = {}) {
  const plan = await call('POST', '/plan', { files: { 'workflows/a.yaml': text } });
  expect(plan.body.error).toBeUndefined();
  const { status, body } = await call('POST', '/apply', { planId: plan.body.id, ...more });
  expect([status, body.error]).toEqual([200, undefined]);
  return { plan: plan.body, result: body.result };
}

let workflowId = '';

/** The version and the state of each execution, by the address of its contact. */
async function people(): Promise<[number, string][]> {
  const rows = await engine.api.db
    .selectFrom('execution')
    .select(['workflow_version as version', 'status'])
    .where('workflow_id', '=', workflowId)
    .orderBy('id')
    .execute();
  return rows.map(({ version, status }) => [version, status]);
}

async function endOf(jobId: string) {
  return waitFor('the end of the migration', async () => {
    const { body } = await call('GET', `/workflows/${workflowId}/jobs/${jobId}`);
    return body.state === 'completed' && body.result;
  });
}

beforeAll(async () => {
  const { result } = await apply(workflow('wait'));
  workflowId = result.objects[0].id;
  for (const name of ['ada', 'bob']) {
    await call('POST', '/v1/track', { email: `${name}@people.test`, event: 'joined' });
  }
  await waitFor(
    'both to wait',
    async () => (await people()).filter(([, status]) => status === 'WAITING').length === 2,
  );
});

it('people stay on their version without migrate', async () => {
  const { plan, result } = await apply(workflow('wait', 3));
  expect(plan.changes[0]).toMatchObject({
    newVersion: 2,
    people: { active: 2, differs: 2, why: { config: 2 } },
  });
  expect(result.jobs).toEqual([]);
  expect(await people()).toEqual([
    [1, 'WAITING'],
    [1, 'WAITING'],
  ]);
});

it('one job moves all of them to the new version with migrate: auto', async () => {
  const { result } = await apply(workflow('wait', 4), { migrate: 'auto' });
  expect(result.jobs).toEqual([{ key: 'a', workflowId, jobId: expect.any(String) }]);
  expect(await endOf(result.jobs[0].jobId)).toMatchObject({ migrated: 2, unmappable: 0 });
  expect(await people()).toEqual([
    [3, 'WAITING'],
    [3, 'WAITING'],
  ]);
});

it('those whose step is gone stay, and are not cancelled', async () => {
  const { plan, result } = await apply(workflow('pause'), { migrate: 'auto' });
  expect(plan.changes[0].people).toMatchObject({ active: 2, unmappable: 2 });
  expect(await endOf(result.jobs[0].jobId)).toMatchObject({ migrated: 0, unmappable: 2 });
  expect(await people()).toEqual([
    [3, 'WAITING'],
    [3, 'WAITING'],
  ]);
});

it('a change without a new version needs no job', async () => {
  const { result } = await apply(workflow('pause').replace('Onboarding', 'Welcome'), {
    migrate: 'auto',
  });
  expect(result.jobs).toEqual([]);
});

it('a workflow with people in it is not deleted', async () => {
  const { body: plan } = await call('POST', '/plan', { files: {}, prune: ['workflow/*'] });
  const { status, body } = await call('POST', '/apply', { planId: plan.id });
  expect([status, body.error.details]).toEqual([
    409,
    { changes: [{ kind: 'workflow', key: 'a', code: 'WORKFLOW_HAS_ACTIVE_EXECUTIONS' }] },
  ]);
  expect(await people()).toHaveLength(2);
});
