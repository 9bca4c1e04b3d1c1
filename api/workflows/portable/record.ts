import { z } from 'zod';
import type { WorkflowRow } from '../../../db/workflows/workflows.ts';
import { ownConfig } from '../../../domain/workflow/compare.ts';
import { keysOf, triggerKey } from '../../../domain/workflow/portable/step-keys.ts';
import type { DrawnVersion } from '../../../domain/workflow/versions/version.ts';
import { stepTypes, type StepType } from '../../../domain/workflow/steps/registry.ts';
import { ExitRules } from '../../../domain/workflow/steps/schemas.ts';
import { shownConfig } from '../../../domain/secrets/in-templates.ts';
import {
  chosenBy,
  Description,
  fault,
  inputSchema,
  JsonObject,
  Name,
  named,
  Uuid,
} from '../../http/schemas.ts';
import { choosing } from '../../http/validation.ts';
import { itemsMax } from '../graph/proposed-graph.ts';
import { presentStart, startFields } from '../graph/starts.ts';
import { Step, Workflow } from '../graph/record.ts';
import { ofTypes, Position } from '../graph/step-input.ts';
import { templateOfConfig, withTemplate } from '../graph/steps.ts';
import { TriggerConfig, TriggerType } from '../graph/trigger.ts';

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

const Key = Name.describe('Unique in the workflow; generated from the name if left out');

const GivenStep = ofTypes(
  'Portable',
  stepTypes.filter((type) => type !== 'TRIGGER'),
  z.object({
    key: Key.optional(),
    name: Name,
    position: Position.optional(),
    templateId: Uuid.nullable().optional(),
    template: named('TemplateReference', { id: Uuid, name: z.unknown().optional() })
      .nullish()
      .describe('Instead of templateId; its name is ignored'),
  }),
);

const GivenTrigger = named('PortableTriggerStep', {
  key: Name.refine(
    (key) => key === triggerKey,
    fault('not_allowed', `The TRIGGER step must have the key ${triggerKey}.`),
  ).optional(),
  type: z.literal('TRIGGER'),
  name: Name.optional().describe('Default: the current value'),
  position: Position.optional(),
});

export interface PortableStep {
  key: string;
  type: StepType;
  /** undefined: only for the TRIGGER, which keeps its name. */
  name: string | undefined;
  config: Record<string, unknown>;
  templateId: string | null;
  position: { x: number; y: number } | undefined;
}

function isTrigger(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'type' in item && item.type === 'TRIGGER';
}

/** Returns the name of an invalid step in errors: its key, or its index if it has no key. */
function placeOf(item: unknown, index: number): string | number {
  const key = typeof item === 'object' && item !== null && 'key' in item ? item.key : undefined;
  if (typeof key === 'string' && key !== '') return key;
  return isTrigger(item) ? triggerKey : index;
}

/**
 * The schema by which unknown keys are found. The config of the TRIGGER is a known key, because GET
 * returns it. In a request, this config is ignored.
 */
const KnownStep = chosenBy((item): z.ZodType =>
  isTrigger(item) ? GivenTrigger.extend({ config: JsonObject }) : GivenStep,
);

const Steps = z
  .array(z.unknown())
  .min(1)
  .max(itemsMax)
  .transform(
    choosing(
      (items: unknown[], context: z.core.$RefinementCtx): PortableStep[] => {
        const steps: ReturnType<typeof stepOf>[] = [];
        items.forEach((item, index) => {
          const schema = isTrigger(item) ? GivenTrigger : GivenStep;
          const parsed = schema.safeParse(item, { reportInput: true });
          if (parsed.success) return void steps.push(stepOf(parsed.data));
          for (const issue of parsed.error.issues) {
            context.issues.push({ ...issue, path: [placeOf(item, index), ...issue.path] } as never);
          }
        });
        if (context.issues.length > 0) return z.NEVER;
        const keys = keysOf(steps.map((step) => ({ ...step, name: step.name ?? '' })));
        return steps.map((step, index) => ({ ...step, key: keys[index] ?? '' }));
      },
      () => z.array(KnownStep),
    ),
  )
  .meta({
    type: 'array',
    minItems: 1,
    maxItems: itemsMax,
    items: {
      oneOf: [
        inputSchema(GivenTrigger),
        ...((GivenStep.meta()?.['oneOf'] as object[] | undefined) ?? []),
      ],
    },
  });

type GivenValues = z.output<typeof GivenTrigger> | z.output<typeof GivenStep>;

function stepOf(given: GivenValues): Omit<PortableStep, 'key'> & { key: string | null } {
  const { key = null, type, name, position } = given;
  if (!('config' in given)) return { key, type, name, position, config: {}, templateId: null };
  const { config, templateId, template } = given;
  const named = [templateId, template?.id, templateOfConfig(config)];
  const chosen = named.find((id) => id !== undefined) ?? null;
  return { key, type, name, position, config: withTemplate(config, chosen), templateId: chosen };
}

/** A whole workflow in a request. A missing setting keeps its value. */
export const GivenGraph = named('WorkflowGraphInput', {
  name: Name.optional(),
  description: Description.optional(),
  ...startFields,
  trigger: z
    .object({ type: TriggerType.default('EVENT'), config: TriggerConfig.default({}) })
    .optional(),
  exitRules: ExitRules.optional(),
  steps: Steps,
  transitions: z
    .array(z.object({ from: Name, to: Name, branch: z.string().nullish() }))
    .max(itemsMax),
});

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
