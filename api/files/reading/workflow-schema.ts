import { z } from 'zod';
import { SendEmailSettings } from '../../../domain/workflow/steps/send-email.ts';
import { stepModules, stepTypes, type StepType } from '../../../domain/workflow/steps/registry.ts';
import { chosenBy, Description, inputSchema, JsonObject, Name } from '../../http/schemas.ts';
import { startFields } from '../../workflows/graph/starts.ts';
import { Position } from '../../workflows/graph/step-input.ts';
import { scheduleFields, TriggerConfig, TriggerType } from '../../workflows/graph/trigger-input.ts';
import { GivenGraph } from '../../workflows/portable/input.ts';
import { FileKey, RenamedFrom } from './schemas.ts';

/** The fields of a workflow's file: a portable graph with keys in place of ids. */

/** The types of steps in files. The trigger has a field of its own. */
export const fileStepTypes = stepTypes.filter((type) => type !== 'TRIGGER');

const { topicId: _, templateId: _t, ...mailSettings } = SendEmailSettings.shape;

/** The config of a mail in a file: the template and the topic are keys. */
const MailConfig = z.object({
  ...mailSettings,
  topic: FileKey.nullish().describe('Key of the topic; null: none; left out: that of the template'),
});

export function stepConfig(type: StepType): z.ZodType {
  return type === 'SEND_EMAIL' ? MailConfig : stepModules[type].config;
}

export const stepFields = {
  key: Name.optional().describe('Unique in the workflow, and stays when the name changes'),
  name: Name.optional().describe('Left out: unchanged; of a new step the key'),
  template: FileKey.nullish().describe('Key of the template of the mail'),
  position: Position.optional().describe('Place in pictures; left out: unchanged'),
};

const steps = new Map<unknown, z.ZodType>(
  fileStepTypes.map((type) => [
    type,
    z.object({ ...stepFields, type: z.literal(type), config: stepConfig(type).optional() }),
  ]),
);

const StepOfNoType = z.object({
  ...stepFields,
  type: z.enum(fileStepTypes),
  config: JsonObject.optional(),
});

const FileStep = chosenBy(
  (step) => steps.get((Object(step) as { type?: unknown }).type) ?? StepOfNoType,
).meta({ anyOf: [...steps.values()].map(inputSchema) });

const { segmentId: _s, ...schedule } = scheduleFields;

export const FileTrigger = z.object({
  type: TriggerType.default('EVENT'),
  config: z
    .object({
      eventName: TriggerConfig.shape.eventName,
      where: TriggerConfig.shape.where,
      ...schedule,
      segment: FileKey.nullish().describe('Key of the segment whose members start'),
    })
    .default({}),
});

export const WorkflowFile = z.object({
  name: Name,
  description: Description.optional(),
  enabled: z.boolean().optional().describe('Left out: unchanged; of a new workflow false'),
  ...startFields,
  trigger: FileTrigger.optional(),
  exitRules: GivenGraph.shape.exitRules,
  steps: z.array(FileStep).optional(),
  transitions: GivenGraph.shape.transitions.optional(),
  renamedFrom: RenamedFrom,
});
