import type { ConsentPolicy } from '../consent/policy.ts';
import { conditionToFlat } from '../filter/forms.ts';
import type { Condition } from '../filter/filter.ts';
import type { SendPolicy } from '../mail/send-policy.ts';
import { hidden } from '../secrets/in-templates.ts';
import { ownConfig } from '../workflow/compare.ts';
import { typesWithSegments } from '../workflow/field-uses.ts';
import type { GraphStep } from '../workflow/graph.ts';
import { triggerKey } from '../workflow/portable/step-keys.ts';
import type { Reentry } from '../workflow/start.ts';
import type { DrawnVersion } from '../workflow/versions/version.ts';
import { type FileKeys, keyOr, withFileKeys } from './references.ts';

/**
 * Builds the contents of the files for version control (see `kinds.ts`) as plain objects. Their
 * fields are in the order in which the file has them. A field that equals its default is left out.
 */

type Fields = Record<string, unknown>;

/** Returns the fields that are neither null nor undefined. */
function given(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

export interface WorkflowContent {
  name: string;
  description: string | null;
  enabled: boolean;
  executionKey: string | null;
  reentry: Reentry;
  /** The config of the trigger, which may name a segment. */
  triggerConfig: { segmentId?: string };
  drawn: DrawnVersion;
}

export function workflowFile(workflow: WorkflowContent, keys: FileKeys): Fields {
  const { name, description, enabled, executionKey, reentry, triggerConfig, drawn } = workflow;
  const { mode, minIntervalSeconds } = reentry;
  const stepKeys = new Map(
    drawn.steps.map(({ id, type, key }) => [id, type === 'TRIGGER' ? triggerKey : key]),
  );
  const { segmentId, ...ofTrigger } = triggerConfig;
  const segment = segmentId === undefined ? undefined : keyOr(keys.segments, segmentId);
  const { exitRules = [] } = drawn;
  return given({
    name,
    description,
    enabled,
    executionKey,
    reentry: mode === 'once' ? null : given({ mode, minIntervalSeconds }),
    trigger: {
      type: drawn.triggerType,
      config: given({ ...withFileKeys(ofTrigger, keys), segment }),
    },
    exitRules: exitRules.length === 0 ? null : withFileKeys(exitRules, keys),
    steps: drawn.steps
      .filter(({ type }) => type !== 'TRIGGER')
      .map((step) =>
        given({
          key: step.key,
          type: step.type,
          name: step.name,
          template: step.templateId === null ? null : keyOr(keys.templates, step.templateId),
          config: configInFile({ type: step.type, config: ownConfig(step) }, keys),
          position: step.position,
        }),
      ),
    transitions: drawn.transitions.map(({ fromStepId, toStepId, branch }) =>
      given({
        from: stepKeys.get(fromStepId) ?? fromStepId,
        to: stepKeys.get(toStepId) ?? toStepId,
        branch,
      }),
    ),
  });
}

/**
 * Returns the config of a step for a file. A `topicId` of null stays, because it means mail without
 * the topic of the template. Only steps with conditions refer to objects in them; the data of other
 * steps may happen to look so.
 */
function configInFile(
  { type, config }: Pick<GraphStep, 'type' | 'config'>,
  keys: FileKeys,
): Fields {
  const { topicId, ...rest } = config;
  const own = typesWithSegments.includes(type) ? withFileKeys(rest, keys) : rest;
  if (topicId === undefined) return own;
  return { ...own, topic: topicId === null ? null : keyOr(keys.topics, topicId as string) };
}

export interface TemplateContent {
  name: string;
  subject: string;
  type: string;
  description: string | null;
  from: string | null;
  fromName: string | null;
  replyTo: string | null;
  topicId: string | null;
}

/** Returns the front matter of a template. */
export function templateFile({ topicId, ...template }: TemplateContent, keys: FileKeys): Fields {
  const { name, subject, type, description, from, fromName, replyTo } = template;
  const topic = topicId === null ? null : keyOr(keys.topics, topicId);
  return given({ name, subject, type, description, from, fromName, replyTo, topic });
}

export interface SegmentContent {
  name: string;
  description: string | null;
  type: string;
  condition: Condition | null;
  trackMembership: boolean;
}

export function segmentFile(segment: SegmentContent, keys: FileKeys): Fields {
  const { name, description, type, trackMembership } = segment;
  const condition = segment.condition && withFileKeys(segment.condition, keys);
  const filters = condition && conditionToFlat(condition);
  return given({
    name,
    description,
    type,
    trackMembership: trackMembership || null,
    ...(filters ? { filters } : { condition }),
  });
}

export interface TopicContent {
  name: string;
  description: string | null;
  visibility: string;
  default: string;
}

export function topicFile({ name, description, visibility, ...topic }: TopicContent): Fields {
  return given({ name, description, visibility, default: topic.default });
}

export interface SubscriptionContent {
  url: string;
  events: readonly string[];
  description: string | null;
  headers: Readonly<Record<string, string>>;
  batchMax: number | null;
  enabled: boolean;
}

export function subscriptionFile(subscription: SubscriptionContent): Fields {
  const { url, events, description, headers, batchMax, enabled } = subscription;
  const shown = Object.entries(headers).map(([name, value]) => [name, headerInFile(value)]);
  return given({
    url,
    description,
    events,
    headers: shown.length === 0 ? null : Object.fromEntries(shown),
    batch: batchMax === null ? null : { max: batchMax },
    enabled,
  });
}

/** The values that are hidden in a file, by place: `headers.X-Token`. */
export type HiddenValues = ReadonlyMap<string, string>;

/** Returns the values of headers that the other list hides. */
export function hiddenHeaders(place: string, stored: unknown, shown: unknown): [string, string][] {
  const after = Object(shown) as Fields;
  return Object.entries(Object(stored) as Fields).flatMap(([name, value]): [string, string][] =>
    after[name] === hidden && typeof value === 'string' ? [[`${place}.${name}`, value]] : [],
  );
}

/**
 * Returns the value of a header for a file. Any value is hidden, unless it only names a secret,
 * alone or after one word such as `Bearer`.
 */
export function headerInFile(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  return /^(?:[A-Za-z]+ )?\{\{\s*secret\.[A-Z][A-Z0-9_]{0,63}\s*\}\}$/.test(value) ? value : hidden;
}

export function sendPolicyFile(policy: SendPolicy): Fields {
  const { timeZone, contactTimeZoneField, quietHours, caps, onCap } = policy;
  return { timeZone, contactTimeZoneField, quietHours, caps, onCap };
}

export function consentPolicyFile(policy: ConsentPolicy, keys: FileKeys): Fields {
  const { requireConfirmation, templateId, from, fromName, remindAfter, expireAfter } = policy;
  const template = templateId === null ? null : keyOr(keys.templates, templateId);
  const { bounceScope } = policy;
  return { requireConfirmation, template, from, fromName, remindAfter, expireAfter, bounceScope };
}
