import { z } from 'zod';
import { type FoundExecution, searchExecutions } from '../../db/workflows/search/executions.ts';
import type { CursorForm } from '../../domain/cursor.ts';
import { limits } from '../../domain/limits.ts';
import type { Fleet } from '../../db/delivery/workers.ts';
import { readFleet } from '../delivery/limits.ts';
import { endpoint } from '../http/endpoint.ts';
import {
  cursorListOf,
  cursorQuery,
  Email,
  Moment,
  named,
  presentCursorList,
  queryInt,
  Uuid,
  commaList,
  queryBoolean,
} from '../http/schemas.ts';
import { OfKey } from '../workflows/graph/starts.ts';
import {
  actorsOf,
  ContactName,
  Execution,
  namedExample,
  type PresentActor,
  presentNamed,
  statuses,
  StepName,
} from './record.ts';
import type { OwnerProject } from '../access/caller.ts';
import { Workflow, workflowExample } from '../workflows/graph/record.ts';

/**
 * Searches executions in all workflows of a project: for example the executions of a contact, or
 * all failed executions.
 */

const FoundExecution = named('FoundExecution', {
  ...Execution.shape,
  workflow: z.object({ id: Workflow.shape.id, name: Workflow.shape.name }),
  contact: ContactName,
  currentStep: StepName.nullable(),
  failedStep: StepName.nullable().describe('The step at which a FAILED execution failed'),
});

const Statuses = commaList(
  statuses,
  `Must be one or more of ${statuses.join(', ')}, separated by commas.`,
).meta({ description: 'Comma list of statuses' });

const OnlyTrue = z.literal('true').transform(() => true);

/**
 * The position has microseconds, so that executions of one millisecond have an order. So a page
 * begins exactly after the last row of the previous page.
 */
const newestStart: CursorForm = { order: 'executions', value: 'instant' };

export const findExecutions = endpoint({
  id: 'searchExecutions',
  method: 'GET',
  path: '/executions',
  summary: 'Find executions over all workflows, newest start first',
  description:
    'A cursor list. All filters must hold; an id that is not of this project finds nothing. ' +
    '`stepId` is the step that an execution is at, or ended at; `error` is a part of its ' +
    'error, in any case. On the first page `total` is the number of ' +
    'all matches; on later pages it is 0.',
  access: 'secret',
  query: cursorQuery(newestStart).extend({
    status: Statuses.optional(),
    workflowId: Uuid.optional(),
    contactId: Uuid.optional(),
    email: Email.optional().meta({ description: 'The address of the contact, in any case' }),
    stepId: Uuid.optional(),
    key: OfKey,
    version: queryInt(1, 2_147_483_647, 0).transform((version) => version || undefined),
    paused: queryBoolean.optional().describe('Paused individually, not with their workflow'),
    warnings: OnlyTrue.optional().describe('With steps that completed with `success: false`'),
    stuck: OnlyTrue.optional().describe('Only executions that are stuck'),
    startedAfter: Moment.optional(),
    startedBefore: Moment.optional(),
    endedAfter: Moment.optional(),
    endedBefore: Moment.optional(),
    error: z.string().min(1).max(limits.searchChars).optional(),
    errorEquals: z
      .string()
      .min(1)
      .max(limits.executionErrorChars)
      .optional()
      .describe('The whole error, as GET /executions/groups shows it'),
  }),
  response: cursorListOf(FoundExecution),
  example: {
    response: {
      data: [
        {
          ...namedExample,
          status: 'FAILED',
          error: 'The receiver answered 404.',
          completedAt: '2026-11-21T08:31:00.000Z',
          workflow: { id: workflowExample.id, name: workflowExample.name },
          failedStep: namedExample.currentStep,
        },
      ],
      hasMore: false,
      total: 1,
    },
  },
  async handle({ db, recent, caller, query }) {
    const { cursor, limit, status, warnings, stuck, ...filters } = query;
    const fleet = await readFleet({ db, recent });
    const search = {
      ...filters,
      statuses: status,
      hasWarnings: warnings,
      isStuck: stuck,
      isDown: fleet.downSince !== null,
      isSweepLate: fleet.isSweepLate,
    };
    const page = { after: cursor, limit: limit + 1 };
    const { rows, total } = await searchExecutions(db, caller.projectId, search, page);
    const names = { actors: await actorsOf(db, rows), outage: fleet };
    return presentCursorList(rows, {
      form: newestStart,
      limit,
      total,
      position: (row) => ({ value: row.started_instant, id: row.id }),
      present: (row) => presentFound(row, caller.project, names),
    });
  },
});

function presentFound(
  row: FoundExecution,
  project: OwnerProject,
  names: { actors: PresentActor; outage: Fleet },
) {
  return {
    ...presentNamed(row, project, names),
    workflow: { id: row.workflow_id, name: row.current_workflow_name },
    // A failed execution stays at the step that failed.
    failedStep: row.status === 'FAILED' ? row.current_step : null,
  };
}
