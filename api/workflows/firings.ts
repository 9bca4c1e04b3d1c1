import { z } from 'zod';
import { listFirings } from '../../db/schedules/firings.ts';
import { scheduleOf } from '../../db/schedules/schedules.ts';
import { findWorkflow } from '../../db/workflows/workflows.ts';
import { found } from '../../domain/errors.ts';
import { plannedInstants } from '../../domain/time/cron.ts';
import { endpoint } from '../http/endpoint.ts';
import { named, Time, time } from '../http/schemas.ts';
import { WorkflowById } from './graph/record.ts';

const Firing = named('Firing', {
  at: Time.describe('The planned time'),
  status: z.enum(['RUNNING', 'COMPLETED', 'MISSED', 'OVERLAPPED', 'STOPPED']),
  matched: z.int().describe('Number of matching contacts: `started` plus `skipped`'),
  started: z.int().describe('Executions that it has started'),
  skipped: z.int().describe('Contacts that may not enter again'),
  startedAt: Time.nullable(),
  completedAt: Time.nullable(),
});

/** Number of planned times in the response. */
const nextMax = 5;

export const listWorkflowFirings = endpoint({
  id: 'listWorkflowFirings',
  method: 'GET',
  path: '/workflows/{id}/firings',
  summary: 'List the last firings of a schedule, and the next ones',
  description:
    'The last 100, newest first, and the next five planned times of a workflow with the ' +
    'trigger SCHEDULE, also while it is disabled. MISSED: not begun within an hour. ' +
    'OVERLAPPED: the previous one was still running. STOPPED: the workflow or its project ' +
    'was disabled meanwhile, or its trigger changed.',
  access: 'secret',
  params: WorkflowById,
  response: z.object({ firings: z.array(Firing), next: z.array(Time) }),
  problems: ['WORKFLOW_NOT_FOUND'],
  example: {
    response: {
      firings: [
        {
          at: '2026-11-23T08:00:00.000Z',
          status: 'COMPLETED',
          matched: 120,
          started: 118,
          skipped: 2,
          startedAt: '2026-11-23T08:00:00.412Z',
          completedAt: '2026-11-23T08:00:01.120Z',
        },
      ],
      next: ['2026-11-24T08:00:00.000Z', '2026-11-25T08:00:00.000Z'],
    },
  },
  async handle({ db, caller: { projectId }, params: { id } }) {
    const workflow = found('WORKFLOW', id, await findWorkflow(db, projectId, id));
    const firings = await listFirings(db, id);
    return {
      firings: firings.map(({ at, status, matched, started, started_at, completed_at }) => ({
        at: time(at),
        status: status as z.input<typeof Firing>['status'],
        matched,
        started,
        skipped: matched - started,
        startedAt: time(started_at),
        completedAt: time(completed_at),
      })),
      next: plannedInstants(scheduleOf(workflow), new Date(), nextMax).map((at) => time(at)),
    };
  },
});
