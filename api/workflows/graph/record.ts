import { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { scheduleOf, type TriggerSchedule } from '../../../db/schedules/schedules.ts';
import { listVersionMakers } from '../../../db/workflows/versions.ts';
import {
  exitRulesOf,
  goalOf,
  type StepRow,
  type TransitionRow,
  triggerWhereOf,
  type WorkflowRow,
} from '../../../db/workflows/workflows.ts';
import { valueOperators } from '../../../domain/filter/filter.ts';
import type { FieldComparison } from '../../../domain/filter/step.ts';
import { ownKeys } from '../../../domain/filter/selection.ts';
import { graphWarningCodes } from '../../../domain/workflow/steps/step.ts';
import type { GraphWarning } from '../../../domain/workflow/graph-rules.ts';
import { stepTypes } from '../../../domain/workflow/steps/registry.ts';
import { shownConfig } from '../../../domain/secrets/in-templates.ts';
import { Actor, readActors } from '../../actors/actor.ts';
import { Goal } from '../../goals/goal.ts';
import { exampleOf, present } from '../../http/record.ts';
import { presentStart, StartRecord } from './starts.ts';
import { ConditionAnswer } from '../../segments/condition-input.ts';
import type { OwnerProject } from '../../access/caller.ts';
import { named, ofProject, Time, times, Uuid } from '../../http/schemas.ts';

export const WorkflowById = z.object({ id: Uuid });

/** Conditions on an event, in their stored form. */
const StoredWhere = z
  .array(
    ownKeys(
      z.object({
        field: z.string(),
        operator: z.enum(valueOperators),
        value: z.unknown().optional(),
        valueOf: z.string().optional(),
      }),
    ),
  )
  .optional()
  .describe(
    'Conditions that must all hold: on the data of the event (`event.`), on the contact (`contact.`) ' +
      'and on the context of the execution (`context.`)',
  );

const ExitRule = named('ExitRule', {
  eventName: z.string(),
  where: StoredWhere,
  reason: z.string().describe('The exitReason of the execution'),
});

export const GraphWarnings = z
  .array(
    named('WorkflowWarning', {
      code: z.enum(graphWarningCodes),
      message: z.string(),
      step: z
        .string()
        .describe(
          'The id of the step, or its key if the graph in the request names its steps by keys',
        ),
    }),
  )
  .describe('Probable mistakes in the graph, at most 100');

export const Workflow = named('Workflow', {
  id: z.uuid().meta({ examples: ['bb000000-0000-4000-8000-000000000001'] }),
  name: z.string().meta({ examples: ['Onboarding'] }),
  description: z.string().nullable(),
  enabled: z.boolean(),
  triggerType: z
    .enum(['EVENT', 'MANUAL', 'SCHEDULE'])
    .describe('MANUAL: started only through the API'),
  triggerConfig: z
    .object({
      eventName: z.string().optional(),
      where: StoredWhere,
      cron: z.string().optional(),
      timeZone: z.string().optional(),
      segmentId: z.uuid().optional(),
      filter: ConditionAnswer.optional(),
    })
    .meta({ examples: [{ eventName: 'signed_up' }] }),
  ...StartRecord,
  version: z.int().meta({
    description: 'Increases with every change of steps, transitions, trigger or exit rules',
    examples: [2],
  }),
  versionBy: Actor.nullable().describe('Who made this version; null: not known'),
  exitRules: z.array(ExitRule).describe('Events that end an execution at any step'),
  goal: Goal.optional().describe('The event that its mail should lead to'),
  pausedAt: Time.nullable().describe('Since then, no step of its executions begins'),
  warnings: GraphWarnings.optional().describe(
    'Probable mistakes in the graph, when it is read, stored or enabled; absent: none',
  ),
  ...ofProject,
});

/** Returns the config of the trigger in the form of the API. */
export function triggerConfig(
  row: Pick<
    WorkflowRow,
    'trigger_type' | 'trigger_event_name' | 'trigger_where' | 'trigger_schedule'
  >,
): TriggerSchedule & { eventName?: string; where?: FieldComparison[] } {
  if (row.trigger_type === 'SCHEDULE') return scheduleOf(row);
  const { trigger_event_name: eventName } = row;
  const where = triggerWhereOf(row);
  return { ...(eventName !== null && { eventName }), ...(where && { where }) };
}

export async function presentWorkflow(
  db: Database,
  row: WorkflowRow,
  project: OwnerProject,
): Promise<z.input<typeof Workflow>> {
  const [record] = await presentWorkflows(db, [row], project);
  return record!;
}

/** Returns the records of workflows. `versionBy` is the actor that made the current version. */
export async function presentWorkflows(
  db: Database,
  rows: readonly WorkflowRow[],
  { publicId: projectId }: OwnerProject,
): Promise<z.input<typeof Workflow>[]> {
  const makers = await listVersionMakers(db, rows);
  const actorOf = await readActors(db, [...makers.values()]);
  return rows.map((row) =>
    present(Workflow, row, {
      projectId,
      ...presentStart(row),
      triggerConfig: triggerConfig(row),
      exitRules: exitRulesOf(row),
      goal: goalOf(row) ?? undefined,
      versionBy: actorOf(makers.get(row.id) ?? null),
    }),
  );
}

/** Returns the warnings of a workflow as a part of its record. */
export function withWarnings(warnings: GraphWarning[]): { warnings?: GraphWarning[] } {
  return warnings.length === 0 ? {} : { warnings };
}

export const workflowExample = exampleOf(Workflow);

export const Step = named('Step', {
  id: z.uuid().meta({ examples: ['aa000000-0000-4000-8000-000000000002'] }),
  type: z.enum(stepTypes),
  name: z.string().meta({ examples: ['Two days'] }),
  position: z.object({ x: z.number(), y: z.number() }).meta({ examples: [{ x: 100, y: 220 }] }),
  config: z.record(z.string(), z.unknown()).meta({ examples: [{ amount: 2, unit: 'days' }] }),
  templateId: z.uuid().nullable(),
  workflowId: Workflow.shape.id,
  ...times,
});

export function presentStep(row: StepRow) {
  return present(Step, row, {
    position: { x: row.position_x, y: row.position_y },
    config: shownConfig(row.config),
  });
}

export const stepExample = { ...exampleOf(Step), type: 'DELAY' } as const;

const triggerExample = {
  ...stepExample,
  id: 'aa000000-0000-4000-8000-000000000001',
  type: 'TRIGGER',
  name: 'Trigger: signed_up',
  position: { x: 100, y: 100 },
  config: workflowExample.triggerConfig,
};

export const Transition = named('Transition', {
  id: z.uuid().meta({ examples: ['cc000000-0000-4000-8000-000000000001'] }),
  fromStepId: z.uuid().meta({ examples: [triggerExample.id] }),
  toStepId: Step.shape.id,
  condition: z.object({ branch: z.string() }).nullable(),
  branch: z.string().nullable(),
  waitOutcome: z.enum(['EVENT', 'TIMEOUT']).nullable(),
  priority: z.int(),
  ...times,
});

export function presentTransition(row: TransitionRow) {
  return present(Transition, row, {
    condition: row.branch === null ? null : { branch: row.branch },
  });
}

export const transitionExample = exampleOf(Transition);

const ends = { template: null, outgoingTransitions: [], incomingTransitions: [] };

export const workflowGraphExample = {
  ...workflowExample,
  steps: [
    { ...triggerExample, ...ends, outgoingTransitions: [transitionExample] },
    { ...stepExample, ...ends, incomingTransitions: [transitionExample] },
  ],
  transitions: [transitionExample],
};
