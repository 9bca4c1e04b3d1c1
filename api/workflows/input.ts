import { z } from 'zod';
import { selection } from '../../domain/filter/selection.ts';
import { ExitRules, ExpectedEvent, TriggerWhere } from '../../domain/workflow/steps/schemas.ts';
import { GoalInput } from '../goals/goal.ts';
import { Description, fault, Name } from '../http/schemas.ts';
import { startFields } from './graph/starts.ts';
import { TriggerConfig, TriggerType } from './graph/trigger-input.ts';
import { GivenGraph } from './portable/input.ts';

/** Schemas of requests that create and change a workflow. */

export const NewWorkflow = z.object({
  name: Name,
  description: Description.optional(),
  eventName: ExpectedEvent.nullish(),
  triggerConfig: selection({ eventName: ExpectedEvent.nullish(), where: TriggerWhere.optional() })
    .nullish()
    .describe('`{eventName, where}`, instead of eventName'),
  triggerType: z
    .enum(['EVENT', 'MANUAL', 'SCHEDULE'])
    .refine(
      (type) => type === 'EVENT',
      fault(
        'not_allowed',
        'Must be EVENT. To create a workflow with another type of trigger, send `graph` with such a `trigger`.',
      ),
    )
    .optional(),
  ...startFields,
  enabled: z.boolean().nullish().describe('Used only with `graph`'),
  graph: GivenGraph.optional().describe('The whole workflow, as returned by GET …/graph'),
});

export const WorkflowChange = z.object({
  name: Name.optional(),
  description: Description.optional(),
  triggerType: TriggerType.optional(),
  triggerConfig: TriggerConfig.optional(),
  enabled: z.boolean().optional(),
  ...startFields,
  exitRules: ExitRules.optional(),
  paused: z
    .boolean()
    .optional()
    .describe('true: no step of its executions begins until it is false'),
  goal: GoalInput.nullish().describe(
    'The event that its mail is sent for; null removes the goal. It is no part of the version',
  ),
});
