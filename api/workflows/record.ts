import { z } from 'zod';
import type { StepRow, TransitionRow, WorkflowRow } from '../../db/workflows/workflows.ts';
import { stepTypes, type StepType } from '../../domain/workflow/step-types.ts';
import { shownConfig } from '../../domain/workflow/webhook-secrets.ts';
import { named, Time, time, Uuid } from '../http/schemas.ts';

/** The records of workflows, steps and transitions as the API returns them. */

export const tag = 'Workflows';

export const WorkflowById = z.object({ id: Uuid });

export const Workflow = named('Workflow', {
  id: z.uuid(),
  name: z.string(),
  description: z.string().nullable(),
  enabled: z.boolean(),
  triggerType: z.enum(['EVENT', 'MANUAL']).describe('MANUAL: started only through the API'),
  triggerConfig: z.object({ eventName: z.string().optional() }),
  allowReentry: z.boolean(),
  version: z.int().describe('One more with every change of steps, transitions or trigger'),
  projectId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

export function triggerConfig(eventName: string | null): { eventName?: string } {
  return eventName === null ? {} : { eventName };
}

export function presentWorkflow(row: WorkflowRow): z.input<typeof Workflow> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    enabled: row.enabled,
    triggerType: row.trigger_type as 'EVENT' | 'MANUAL',
    triggerConfig: triggerConfig(row.trigger_event_name),
    allowReentry: row.allow_reentry,
    version: row.version,
    projectId: row.project_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

const JsonObject = z.record(z.string(), z.unknown());

export const Step = named('Step', {
  id: z.uuid(),
  type: z.enum(stepTypes),
  name: z.string(),
  position: z.object({ x: z.number(), y: z.number() }),
  config: JsonObject,
  templateId: z.uuid().nullable(),
  workflowId: z.uuid(),
  createdAt: Time,
  updatedAt: Time,
});

export function presentStep(row: StepRow): z.input<typeof Step> {
  return {
    id: row.id,
    type: row.type as StepType,
    name: row.name,
    position: { x: row.position_x, y: row.position_y },
    config: shownConfig(row.config),
    templateId: row.template_id,
    workflowId: row.workflow_id,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

export const Transition = named('Transition', {
  id: z.uuid(),
  fromStepId: z.uuid(),
  toStepId: z.uuid(),
  condition: z.object({ branch: z.string() }).nullable(),
  branch: z.string().nullable(),
  waitOutcome: z.enum(['EVENT', 'TIMEOUT']).nullable(),
  priority: z.int(),
  createdAt: Time,
  updatedAt: Time,
});

export function presentTransition(row: TransitionRow): z.input<typeof Transition> {
  return {
    id: row.id,
    fromStepId: row.from_step_id,
    toStepId: row.to_step_id,
    condition: row.branch === null ? null : { branch: row.branch },
    branch: row.branch,
    waitOutcome: row.wait_outcome as 'EVENT' | 'TIMEOUT' | null,
    priority: row.priority,
    createdAt: time(row.created_at),
    updatedAt: time(row.updated_at),
  };
}

/** For the documentation. */
const exampleTimes = {
  createdAt: '2026-11-20T10:00:00.000Z',
  updatedAt: '2026-11-20T10:00:00.000Z',
};

export const workflowExample: z.input<typeof Workflow> = {
  id: 'bb000000-0000-4000-8000-000000000001',
  name: 'Onboarding',
  description: null,
  enabled: false,
  triggerType: 'EVENT',
  triggerConfig: { eventName: 'signed_up' },
  allowReentry: false,
  version: 2,
  projectId: '0e9b6f0c-52a8-4b5c-8a51-0f3f6b9d2c01',
  ...exampleTimes,
};

export const triggerExample: z.input<typeof Step> = {
  id: 'aa000000-0000-4000-8000-000000000001',
  type: 'TRIGGER',
  name: 'Trigger: signed_up',
  position: { x: 100, y: 100 },
  config: { eventName: 'signed_up' },
  templateId: null,
  workflowId: workflowExample.id,
  ...exampleTimes,
};

export const stepExample: z.input<typeof Step> = {
  ...triggerExample,
  id: 'aa000000-0000-4000-8000-000000000002',
  type: 'DELAY',
  name: 'Two days',
  position: { x: 100, y: 220 },
  config: { amount: 2, unit: 'days' },
};

export const transitionExample: z.input<typeof Transition> = {
  id: 'cc000000-0000-4000-8000-000000000001',
  fromStepId: triggerExample.id,
  toStepId: stepExample.id,
  condition: null,
  branch: null,
  waitOutcome: null,
  priority: 0,
  ...exampleTimes,
};

const ends = { template: null, outgoingTransitions: [], incomingTransitions: [] };

export const workflowGraphExample = {
  ...workflowExample,
  steps: [
    { ...triggerExample, ...ends, outgoingTransitions: [transitionExample] },
    { ...stepExample, ...ends, incomingTransitions: [transitionExample] },
  ],
  transitions: [transitionExample],
};
