import { z } from 'zod';
import { readGoalSums } from '../../../db/goals/tally.ts';
import { findStats } from '../../../db/workflows/stats.ts';
import { findWorkflow, goalOf } from '../../../db/workflows/workflows.ts';
import { found } from '../../../domain/errors.ts';
import { limits } from '../../../domain/limits.ts';
import { stepTypes } from '../../../domain/workflow/steps/registry.ts';
import { rangeQuery } from '../../activity/date-range.ts';
import { Outcomes, Reasons } from '../../emails/outcomes.ts';
import { GoalStats, goalStats } from '../../goals/goal.ts';
import { endpoint } from '../../http/endpoint.ts';
import { WorkflowById } from '../graph/record.ts';
import { findGraph, Version } from '../graph/versions.ts';

const Count = z.int().min(0);

const Stats = z.object({
  executions: z.object({
    started: Count,
    active: Count.describe('Includes the paused ones'),
    paused: Count.describe('Active, and paused individually'),
    completed: Count,
    exited: Count,
    failed: Count,
    cancelled: Count,
  }),
  notStarted: z
    .object({ no_key: Count, key_too_long: Count, too_many: Count })
    .optional()
    .describe(
      'Events of the period that started no execution, by reason; those older than 30 days are ' +
        'not counted. Only for workflows with executionKey or the mode `parallel`',
    ),
  goal: GoalStats.optional().describe(
    'Only with a goal: what followed the mail of these executions',
  ),
  steps: z.array(
    z.object({
      stepId: z.uuid(),
      name: z.string(),
      type: z.enum(stepTypes),
      entered: Count.describe('Executions that have begun the step'),
      completed: Count,
      skipped: Count,
      failed: Count,
      waiting: Count.describe('Active executions that are at the step now'),
      medianSeconds: z
        .number()
        .nullable()
        .describe('Seconds from entering to leaving the step; null: no execution has left it'),
      branches: z.record(z.string(), Count).describe('Executions that left it, by branch'),
      emails: z
        .object({
          total: Count,
          outcomes: Outcomes.describe('Mail by outcome: the sum is total'),
          reasons: Reasons,
          sent: Count,
          delivered: Count,
          opened: Count,
          clicked: Count,
          bounced: Count,
          humanOpened: Count.describe('Mail with an open by a person'),
          machineOpened: Count.describe('Mail with opens by machines alone'),
          humanClicked: Count,
          machineClicked: Count,
        })
        .optional()
        .describe('Only for steps that send mail'),
    }),
  ),
});

const example = {
  stepId: 'aa000000-0000-4000-8000-000000000001',
  entered: 10,
  completed: 10,
  skipped: 0,
  failed: 0,
  waiting: 0,
  medianSeconds: 0.02,
};

export const getWorkflowStats = endpoint({
  id: 'getWorkflowStats',
  method: 'GET',
  path: '/workflows/{id}/stats',
  summary: 'Count executions and their results at each step',
  description:
    'Counts executions that started in the period, both ends included; by default all. With ' +
    '`version`, only executions on that version, with its steps; otherwise the steps are those of ' +
    'the current workflow. Medians of more than 100,000 executions are those of a sample. ' +
    `STATS_TOO_HEAVY: a count took longer than ${limits.statsTimeMs / 1000} seconds; ask for a ` +
    'shorter period.',
  access: 'secret',
  wrapped: true,
  params: WorkflowById,
  query: rangeQuery({ version: Version }),
  response: Stats,
  problems: ['WORKFLOW_NOT_FOUND', 'STATS_TOO_HEAVY'],
  example: {
    response: {
      executions: {
        started: 10,
        active: 1,
        paused: 0,
        completed: 8,
        exited: 0,
        failed: 1,
        cancelled: 0,
      },
      steps: [{ ...example, name: 'Is on pro', type: 'CONDITION', branches: { yes: 4, no: 6 } }],
    },
  },
  async handle({ db, caller: { projectId }, params: { id }, query }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const graph = await findGraph(db, workflow, query.version);
    const { executions, steps, goal, notStarted } = await findStats(db, workflow, graph, query);
    // Contacts can be deleted with their mail. The stored sums over all executions still contain
    // that mail.
    const isOfAll = Object.values(query).every((limit) => limit === undefined);
    const sums = isOfAll ? await readGoalSums(db, id) : goal;
    const refuses = workflow.execution_key !== null || workflow.reentry_mode === 'parallel';
    return {
      executions,
      ...(refuses && { notStarted }),
      ...goalStats(goalOf(workflow), sums, goal.sent),
      steps: graph.steps.flatMap(({ id: stepId, name, type }) => {
        const counts = steps.get(stepId);
        if (!counts) return [];
        return [{ stepId, name, type, ...counts, branches: Object.fromEntries(counts.branches) }];
      }),
    };
  },
});
