import { z } from 'zod';
import { groupExecutions, groupKinds } from '../../db/workflows/search/groups.ts';
import { readFleet } from '../delivery/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time, Uuid } from '../http/schemas.ts';
import { Workflow, workflowExample } from '../workflows/graph/record.ts';
import { namedExample, StepName } from './record.ts';

const ExecutionGroup = named('ExecutionGroup', {
  kind: z.enum(groupKinds),
  workflow: z.object({ id: Workflow.shape.id, name: Workflow.shape.name }),
  step: StepName.nullable(),
  error: z.string().nullable().describe('Why they failed or are stuck; null for warnings'),
  count: z.int(),
  firstAt: Time.describe('When the first of them failed, got stuck, or ended with a warning'),
  lastAt: Time,
});

export const listExecutionGroups = endpoint({
  id: 'listExecutionGroups',
  method: 'GET',
  path: '/executions/groups',
  summary: 'Group executions that failed, are stuck or have warnings, the largest group first',
  description:
    'A group has the executions of one workflow with the same error at the same step; at most 200 ' +
    'groups. An execution counts once: as failed, else as stuck, else as warning. ' +
    'STATS_TOO_HEAVY: counting took longer than 20 seconds.',
  access: 'secret',
  query: z.object({
    kind: z.enum(groupKinds).optional().describe('Only groups of this kind'),
    workflowId: Uuid.optional().describe('Only executions of this workflow'),
  }),
  response: z.array(ExecutionGroup),
  problems: ['STATS_TOO_HEAVY'],
  example: {
    response: [
      {
        kind: 'failed' as const,
        workflow: { id: workflowExample.id, name: workflowExample.name },
        step: namedExample.currentStep,
        error: 'The receiver answered 404.',
        count: 12,
        firstAt: '2026-11-21T08:31:00.000Z',
        lastAt: '2026-11-21T09:02:00.000Z',
      },
    ],
  },
  async handle({ db, recent, caller: { projectId }, query }) {
    const { downSince, isSweepLate } = await readFleet({ db, recent });
    const search = { ...query, isDown: downSince !== null, isSweepLate };
    const groups = await groupExecutions(db, projectId, search);
    return groups.map((group) => ({
      ...group,
      firstAt: time(group.firstAt),
      lastAt: time(group.lastAt),
    }));
  },
});
