import type { Play } from './play.ts';

const delay = (name: string) => ({ type: 'DELAY', name, config: { amount: 1, unit: 'days' } });
const ofWorkflow = { id: 'workflow' };

async function read({ api, project, ids }: Parameters<NonNullable<Play['prepare']>>[0]) {
  const path = `/workflows/${ids['workflow']}`;
  const { body } = await api.request('GET', path, { key: project.secretKey });
  return body as {
    steps: { id: string; type: string }[];
    transitions: { id: string }[];
  };
}

/** Changes of workflows and of many executions, in an order in which they are possible. */
export const workflowChanges: Play[] = [
  {
    id: 'createWorkflow',
    event: 'workflow.created',
    body: { name: 'Onboarding', eventName: 'signed_up' },
    makes: 'workflow',
  },
  { id: 'updateWorkflow', event: 'workflow.changed', body: { name: 'Welcome' } },
  {
    id: 'createStep',
    event: 'workflow.changed',
    body: delay('Wait'),
    makes: 'step',
  },
  {
    id: 'updateStep',
    event: 'workflow.changed',
    params: { ...ofWorkflow, stepId: 'step' },
    body: { config: { amount: 2, unit: 'days' } },
  },
  {
    id: 'insertStep',
    event: 'workflow.changed',
    params: { ...ofWorkflow, transitionId: 'transition' },
    body: delay('Wait before'),
    makes: 'inserted',
    async prepare(world) {
      const { transitions } = await read(world);
      world.ids['transition'] = transitions[0]!.id;
    },
  },
  {
    id: 'deleteTransition',
    event: 'workflow.changed',
    params: { ...ofWorkflow, transitionId: 'transition' },
  },
  {
    id: 'createTransition',
    event: 'workflow.changed',
    body: ({ ids }) => ({ fromStepId: ids['trigger'], toStepId: ids['inserted'] }),
    async prepare(world) {
      const { steps } = await read(world);
      world.ids['trigger'] = steps.find(({ type }) => type === 'TRIGGER')!.id;
    },
  },
  {
    id: 'deleteStep',
    event: 'workflow.changed',
    params: { ...ofWorkflow, stepId: 'step' },
  },
  {
    id: 'restoreVersion',
    event: 'workflow.changed',
    params: { ...ofWorkflow, version: 'version' },
    prepare: ({ ids }) => (ids['version'] = '2'),
  },
  {
    id: 'setWorkflowGraph',
    event: 'workflow.changed',
    body: {
      steps: [
        { key: 'trigger', type: 'TRIGGER' },
        { key: 'pause', ...delay('Pause') },
      ],
      transitions: [{ from: 'trigger', to: 'pause' }],
    },
  },
  { id: 'duplicateWorkflow', event: 'workflow.created', makes: 'copy' },
  { id: 'migrateExecutions', event: 'workflow.migrated', body: {} },
  { id: 'retryAllExecutions', event: 'workflow.retried', body: {} },
  {
    id: 'moveWaits',
    event: 'workflow.waits_moved',
    params: { ...ofWorkflow, stepId: 'waiting' },
    body: { shiftBySeconds: -60 },
    async prepare(world) {
      const { steps } = await read(world);
      world.ids['waiting'] = steps.find(({ type }) => type === 'DELAY')!.id;
    },
  },
  { id: 'cancelAllExecutions', event: 'workflow.cancelled', body: {} },
  { id: 'deleteWorkflow', event: 'workflow.deleted' },
  {
    id: 'bulkUpdateWorkflows',
    event: 'workflow.deleted',
    body: ({ ids }) => ({ ids: [ids['copy']], delete: true }),
  },
];
