import { z } from 'zod';
import { JourneyFile } from '../journey-input.ts';
import { schemaTexts } from './texts.ts';
import {
  ConsentPolicyFile,
  SegmentFile,
  SendPolicyFile,
  SettingsFile,
  SubscriptionFile,
  TemplateFile,
  TopicFile,
} from '../schemas.ts';
import { WorkflowFile } from '../workflow-schema.ts';

/** The JSON Schemas of files, by which editors check and complete them. */

export const schemaNames = [
  'workflow.json',
  'template.json',
  'segment.json',
  'topic.json',
  'event-subscription.json',
  'send-policy.json',
  'consent-policy.json',
  'journey.json',
  'everpost.json',
] as const;

export type SchemaName = (typeof schemaNames)[number];

export type JsonSchema = Record<string, unknown>;

const schemas: Readonly<Record<SchemaName, { title: string; schema: z.ZodType }>> = {
  'workflow.json': { title: 'A workflow', schema: WorkflowFile },
  'template.json': {
    title: 'The front matter of a template',
    schema: TemplateFile.omit({ body: true }),
  },
  'segment.json': { title: 'A segment', schema: SegmentFile },
  'topic.json': { title: 'A topic', schema: TopicFile },
  'event-subscription.json': { title: 'An event subscription', schema: SubscriptionFile },
  'send-policy.json': { title: 'The send policy', schema: SendPolicyFile },
  'consent-policy.json': { title: 'The consent policy', schema: ConsentPolicyFile },
  'journey.json': { title: 'Tests of a workflow', schema: JourneyFile },
  'everpost.json': { title: 'The settings of a folder', schema: SettingsFile },
};

/**
 * Returns a schema as draft-07, which is what editors read: without references, with a description
 * of every property, and closed against unknown keys.
 */
export function fileSchema(name: SchemaName): JsonSchema {
  const { title, schema } = schemas[name];
  const made = z.toJSONSchema(schema, { target: 'draft-7', io: 'input', unrepresentable: 'any' });
  return { $schema: draft, title, ...(closedSchema(made, {}, []) as JsonSchema) };
}

const draft = 'http://json-schema.org/draft-07/schema#';

type Definitions = Readonly<Record<string, unknown>>;

/** @param path the properties that lead to the schema */
function closedSchema(schema: unknown, outer: Definitions, path: readonly string[]): unknown {
  if (Array.isArray(schema)) return schema.map((item) => closedSchema(item, outer, path));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { definitions, $defs, $ref, $schema: _, ...own } = schema as JsonSchema;
  const known = { ...outer, ...(definitions as Definitions), ...($defs as Definitions) };
  const referred = typeof $ref === 'string' ? known[$ref.slice($ref.lastIndexOf('/') + 1)] : {};
  return simplified({ ...(referred as JsonSchema), ...own }, known, path);
}

/** Keywords with a schema, or a list of schemas, for the same value. */
const sameValue = ['anyOf', 'oneOf', 'items'] as const;

function simplified(schema: JsonSchema, known: Definitions, path: readonly string[]): JsonSchema {
  // A variable may stand in any text, so its format is unknown.
  const { format: _, propertyNames: _p, id: _i, const: word, properties, ...kept } = schema;
  const result: JsonSchema = kept;
  if (word !== undefined) result['enum'] = [word];
  for (const keyword of sameValue) {
    if (kept[keyword] !== undefined) result[keyword] = closedSchema(kept[keyword], known, path);
  }
  const { additionalProperties } = kept;
  if (typeof additionalProperties === 'object') {
    result['additionalProperties'] = closedSchema(additionalProperties, known, path);
  }
  if (properties === undefined) return result;
  result['properties'] = Object.fromEntries(
    Object.entries(properties as JsonSchema).map(([name, property]) => {
      const at = [...path, name];
      const inner = closedSchema(property, known, at) as JsonSchema;
      return [name, { ...inner, description: textOf(inner, at) }];
    }),
  );
  result['additionalProperties'] = false;
  return result;
}

/** Returns the description of a property: its own, or that of the longest known end of its path. */
function textOf({ description }: JsonSchema, path: readonly string[]): string | undefined {
  if (typeof description === 'string') return description;
  const ends = path.map((_, index) => path.slice(index).join('.'));
  const end = ends.find((one) => Object.hasOwn(schemaTexts, one));
  return end === undefined ? undefined : schemaTexts[end];
}
