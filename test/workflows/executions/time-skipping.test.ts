import { Worker } from '@temporalio/worker';
import { describe, expect, inject, it } from 'vitest';
import type { StepCallById, StepResult } from '../../../activities/steps/perform.ts';
import type { StepActivities } from '../../../activities/steps/steps.ts';
import type { ExecutionStart } from '../../../domain/runs/execution.ts';
import { nextStep, type Outcome } from '../../../domain/workflow/decide.ts';
import { findStep } from '../../../domain/workflow/graph.ts';
import type { customerWorkflow } from '../../../workflows/execution.ts';
import { canSkipTime, startTimeSkipping } from '../../support/histories/time-skipping.ts';
import { outcomeOf, thirtyDays, waitOutcome } from '../../support/histories/virtual-execution.ts';
import { refOf } from '../../../domain/workflow/place.ts';
import { type PerformedType, stepTypes } from '../../../domain/workflow/steps/registry.ts';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const keywordType = 2;
const dayMs = 86_400_000;

const start: ExecutionStart = {
  executionId: 'thirty-days',
  projectId: 'project',
  contactId: 'contact',
  workflowId: 'workflow',
  workflowName: 'Thirty days',
  version: 1,
  startedAt: '2026-11-21T08:30:00.000Z',
  next: refOf(findStep(thirtyDays, 'Welcome')!),
};

function result({ stepId }: StepCallById, outcome: Outcome): StepResult {
  const next = nextStep(thirtyDays, stepId, outcome);
  return next ? { outcome, next: refOf(next) } : { outcome };
}

describe('the run of a journey of thirty days', () => {
  // The product's activities read the clock of the database, which cannot be skipped.
  it('sleeps through them on a server that skips time', { timeout: 120_000 }, async (context) => {
    context.skip(!(await canSkipTime()), 'Time is skipped where Java and Maven are.');
    const environment = await startTimeSkipping();
    const path: string[] = [];
    let begun: number | undefined;
    const act = async (call: StepCallById): Promise<StepResult> => {
      const step = findStep(thirtyDays, call.stepId)!;
      const now = await environment.currentTimeMs();
      begun ??= now;
      path.push(`${step.name} on day ${Math.round((now - begun) / dayMs)}`);
      return result(call, outcomeOf(step, { plan: 'pro' }, now));
    };
    const activities: StepActivities = {
      ...(Object.fromEntries(stepTypes.map((type) => [type, act])) as Record<
        PerformedType,
        typeof act
      >),
      SETTLE_WAIT: async (call) => result(call, waitOutcome('TIMEOUT')),
      COMPLETE: async () => undefined,
      FIND_POSITION: async () => ({ end: 'CANCELLED' }),
    };
    try {
      await environment.connection.operatorService.addSearchAttributes({
        namespace: environment.namespace ?? null,
        searchAttributes: { CustomerWorkflowStatus: keywordType },
      });
      const connection = environment.nativeConnection;
      const worker = await Worker.create({
        connection,
        taskQueue: 'thirty-days',
        workflowBundle: { codePath: inject('workflowBundle') },
        activities,
      });
      const webhooks = { connection, taskQueue: 'thirty-days-webhook', activities };
      const run = environment.client.workflow.execute<typeof customerWorkflow>('customerWorkflow', {
        workflowId: 'execution-thirty-days',
        taskQueue: 'thirty-days',
        args: [start],
      });
      const caller = await Worker.create(webhooks);
      const [end] = await Promise.all([worker.runUntil(run), caller.runUntil(run)]);
      expect(end).toBe('COMPLETED');
      expect(path).toEqual([
        'Welcome on day 0',
        'Week on day 0',
        'Tips on day 7',
        'Bought? on day 7',
        'Nine days on day 21',
        'Pro? on day 30',
        'Call on day 30',
      ]);
    } finally {
      await environment.teardown();
    }
  });
});
