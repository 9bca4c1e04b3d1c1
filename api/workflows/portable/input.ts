import { z } from 'zod';
import { triggerKey, keysOf } from '../../../domain/workflow/portable/step-keys.ts';
import { stepTypes, type StepType } from '../../../domain/workflow/steps/registry.ts';
import { ExitRules } from '../../../domain/workflow/steps/schemas.ts';
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
import { startFields } from '../graph/starts.ts';
import { templateOfConfig, withTemplate } from '../graph/step-config.ts';
import { ofTypes, Position } from '../graph/step-input.ts';
import { TriggerConfig, TriggerType } from '../graph/trigger-input.ts';

/** A whole workflow in a request, with keys in place of ids. */

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
