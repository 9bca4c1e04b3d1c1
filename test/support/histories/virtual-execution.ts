import { evaluateStepCondition, type StepCondition } from '../../../domain/filter/step.ts';
import type { Graph, GraphStep } from '../../../domain/workflow/graph.ts';
import type { StepType } from '../../../domain/workflow/steps/registry.ts';
import type { Outcome } from '../../../domain/workflow/decide.ts';
import { fixedDelay } from '../../../domain/workflow/steps/delay.ts';
import type { StepConfig } from '../../../domain/workflow/steps/registry.ts';
import { waitBranches } from '../../../domain/workflow/steps/step.ts';

/** Returns the outcome of a wait that an event or the timeout ended. */
export function waitOutcome(result: keyof typeof waitBranches): Outcome {
  return { kind: 'branch', branch: waitBranches[result] };
}

/** Returns the outcome of a step that begins at `now` for a contact with this data. */
export function outcomeOf(step: GraphStep, data: Record<string, unknown>, now: number): Outcome {
  switch (step.type) {
    case 'DELAY': {
      const { ms } = fixedDelay(step.config as StepConfig<'DELAY'>)!;
      return { kind: 'resting', until: new Date(now + ms).toISOString() };
    }
    case 'WAIT_FOR_EVENT': {
      const { timeout } = step.config as StepConfig<'WAIT_FOR_EVENT'>;
      const until = timeout === undefined ? null : new Date(now + timeout * 1000).toISOString();
      return { kind: 'waiting', until };
    }
    case 'CONDITION': {
      const contact = {
        email: 'ada@people.test',
        subscribed: true,
        data,
        createdAt: new Date(now),
        updatedAt: new Date(now),
      };
      const { branch } = evaluateStepCondition(step.config as unknown as StepCondition, {
        contact,
        context: null,
      });
      return { kind: 'branch', branch };
    }
    case 'EXIT':
      return { kind: 'exited' };
    default:
      return { kind: 'done' };
  }
}

/** Returns a graph with a TRIGGER and these steps, whose names are their ids. */
function graphOf(
  steps: [name: string, type: StepType, config?: Record<string, unknown>][],
  ways: [from: string, to: string, branch?: string][],
): Graph {
  return {
    steps: [['TRIGGER', 'TRIGGER'] as const, ...steps].map(([name, type, config = {}]) => ({
      id: name,
      type,
      name,
      config,
      templateId: null,
    })),
    transitions: ways.map(([fromStepId, toStepId, branch = null], index) => ({
      id: `t${index}`,
      fromStepId,
      toStepId,
      branch,
    })),
  };
}

/** A graph of thirty days with two delays, a wait and a condition. */
export const thirtyDays = graphOf(
  [
    ['Welcome', 'SEND_EMAIL'],
    ['Week', 'DELAY', { amount: 7, unit: 'days' }],
    ['Tips', 'SEND_EMAIL'],
    ['Bought?', 'WAIT_FOR_EVENT', { eventName: 'bought', timeout: 14 * 86_400 }],
    ['Thanks', 'SEND_EMAIL'],
    ['Nine days', 'DELAY', { amount: 9, unit: 'days' }],
    ['Pro?', 'CONDITION', { field: 'data.plan', operator: 'equals', value: 'pro' }],
    ['Call', 'WEBHOOK'],
    ['End', 'EXIT'],
  ],
  [
    ['TRIGGER', 'Welcome'],
    ['Welcome', 'Week'],
    ['Week', 'Tips'],
    ['Tips', 'Bought?'],
    ['Bought?', 'Thanks', 'event'],
    ['Bought?', 'Nine days', 'timeout'],
    ['Thanks', 'Nine days'],
    ['Nine days', 'Pro?'],
    ['Pro?', 'Call', 'yes'],
    ['Pro?', 'End', 'no'],
  ],
);
