import { z } from 'zod';
import { fileKeyPattern } from '../../../domain/files/kinds.ts';
import { conditionInputs, NewSegment } from '../../segments/input.ts';
import { consentPolicyFields } from '../../consent/policy-input.ts';
import { SendPolicyChange } from '../../projects/send-policy-input.ts';
import { NewSubscription } from '../../subscriptions/input.ts';
import { TemplateInput } from '../../templates/input.ts';
import { NewTopic } from '../../topics/input.ts';

/**
 * The fields of files: those of the requests that create the objects, with keys in place of ids.
 * They say which fields a file can have; the values are checked by the schema of the request.
 */

export const FileKey = z
  .string()
  .regex(
    fileKeyPattern,
    'Must be 1 to 50 of the characters a-z, 0-9, _ and -, and begin with a letter or digit.',
  );

export const RenamedFrom = FileKey.optional().describe(
  'The former key of the object. Where no object has the key of this file, the object with the former key gets it and keeps its id',
);

export const TopicFile = NewTopic.omit({ key: true });

export const TemplateFile = TemplateInput.omit({ topicId: true }).extend({
  topic: FileKey.nullish().describe('Key of the topic of marketing mail'),
  renamedFrom: RenamedFrom,
});

export const SegmentFile = z.object({
  ...NewSegment.shape,
  ...conditionInputs,
  renamedFrom: RenamedFrom,
});

const { from: _, ...subscriptionFields } = NewSubscription.shape;

export const SubscriptionFile = z.object({ ...subscriptionFields, renamedFrom: RenamedFrom });

export const SendPolicyFile = SendPolicyChange;

const { templateId: _t, ...consentFields } = consentPolicyFields;

export const ConsentPolicyFile = z
  .object({
    ...consentFields,
    template: FileKey.nullable().describe(
      'Key of the template of the confirmation mail, which uses `confirmUrl`. null: the built-in text',
    ),
  })
  .partial();

const Patterns = z.array(z.string()).optional();

const Variables = z
  .record(z.string(), z.string())
  .optional()
  .describe('Values of `${NAME}` in files. They are no secrets');

/** `everpost.yaml`, which only the command line reads. */
export const SettingsFile = z.object({
  only: Patterns.describe('Patterns of the objects that this folder manages; left out: all'),
  protect: Patterns.describe('Patterns of the objects that are never deleted'),
  variables: Variables,
  profiles: z
    .record(
      z.string(),
      z.object({
        url: z.string().optional().describe('Address of the API'),
        variables: Variables,
      }),
    )
    .optional()
    .describe('The servers and projects to which the folder is applied, by name'),
  project: z
    .object({
      name: z.string().optional().describe('Name of the project'),
      language: z.string().optional().describe('Language of the project, such as en'),
    })
    .optional()
    .describe('The project of journey tests'),
});
