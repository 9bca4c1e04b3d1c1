import { z } from 'zod';
import type { WorkflowRow } from '../../../db/workflows/workflows.ts';
import { ownConfig } from '../../../domain/workflow/compare.ts';
import { triggerKey } from '../../../domain/workflow/portable/step-keys.ts';
import type { DrawnVersion } from '../../../domain/workflow/versions/version.ts';
import { shownConfig } from '../../../domain/secrets/in-templates.ts';
import { named } from '../../http/schemas.ts';
import { presentStart } from '../graph/starts.ts';
import { Step, Workflow } from '../graph/record.ts';

/**
 * A whole workflow without ids, for version control or a copy to another project. Keys identify its
 * steps.
 */

/** The fields of a version of a workflow, except its steps. */
const graphFields = {
  trigger: z.object({ type: Workflow.shape.triggerType, config: Workflow.shape.triggerConfig }),
  exitRules: Workflow.shape.exitRules,
  transitions: z.array(
    z.object({
      from: z.string().describe('Key of a step'),
      to: z.string(),
      branch: z.string().optional(),
    }),
  ),
};

const KeyedStep = z.object({
  key: z.string().describe('Unique in the workflow; stays when the name changes'),
  type: Step.shape.type,
  name: Step.shape.name,
  config: Step.shape.config,
  template: z.object({ id: z.uuid(), name: z.string() }).optional(),
  position: Step.shape.position,
});

export const PortableGraph = named('PortableGraph', {
  name: Workflow.shape.name,
  description: Workflow.shape.description,
  allowReentry: Workflow.shape.allowReentry,
  executionKey: Workflow.shape.executionKey,
  reentry: Workflow.shape.reentry,
  ...graphFields,
  steps: z.array(KeyedStep),
});

/** The graph of a version, which has no settings of the workflow. */
export const VersionGraph = named('VersionGraph', {
  ...graphFields,
  steps: z.array(
    KeyedStep.extend({
      id: z.uuid(),
      template: z
        .object({ id: z.uuid(), name: z.string().nullable() })
        .optional()
        .describe('`name` is null when the template was deleted'),
    }),
  ),
});

export function presentPortable(
  workflow: WorkflowRow,
  drawn: DrawnVersion,
  templates: ReadonlyMap<string, string>,
): z.input<typeof PortableGraph> {
  const { name, description, execution_key: executionKey } = workflow;
  const { steps, ...graph } = presentVersionGraph(drawn, templates);
  return {
    name,
    description,
    ...presentStart(workflow),
    executionKey,
    ...graph,
    steps: steps.map(({ id: _id, template, ...step }) => ({
      ...step,
      ...(template && { template: { ...template, name: template.name ?? '' } }),
    })),
  };
}

/**
 * Returns the graph of a version.
 * @param templates names of the templates, by id
 */
export function presentVersionGraph(
  { triggerType, exitRules = [], steps, transitions }: DrawnVersion,
  templates: ReadonlyMap<string, string>,
): z.input<typeof VersionGraph> {
  const keys = new Map(steps.map(({ id, key }) => [id, key]));
  const trigger = steps.find(({ type }) => type === 'TRIGGER');
  return {
    trigger: { type: triggerType, config: trigger?.config ?? {} },
    exitRules: [...exitRules],
    steps: steps.map(({ templateId, ...step }) => ({
      id: step.id,
      key: step.key,
      type: step.type,
      name: step.name,
      config: shownConfig(ownConfig(step)),
      ...(templateId !== null && {
        template: { id: templateId, name: templates.get(templateId) ?? null },
      }),
      position: step.position,
    })),
    transitions: transitions.map(({ fromStepId, toStepId, branch }) => ({
      from: keys.get(fromStepId) ?? '',
      to: keys.get(toStepId) ?? '',
      ...(branch !== null && { branch }),
    })),
  };
}

export const portableExample: z.input<typeof PortableGraph> = {
  name: 'Onboarding',
  description: null,
  allowReentry: false,
  executionKey: null,
  reentry: { mode: 'once', minIntervalSeconds: null },
  trigger: { type: 'EVENT', config: { eventName: 'signed_up' } },
  exitRules: [],
  steps: [
    {
      key: triggerKey,
      type: 'TRIGGER',
      name: 'Trigger: signed_up',
      config: { eventName: 'signed_up' },
      position: { x: 100, y: 100 },
    },
    {
      key: 'two-days',
      type: 'DELAY',
      name: 'Two days',
      config: { amount: 2, unit: 'days' },
      position: { x: 100, y: 220 },
    },
  ],
  transitions: [{ from: triggerKey, to: 'two-days' }],
};
