import { z } from 'zod';
import type { TriggerSchedule } from '../../../db/schedules/schedules.ts';
import type { FieldProblem } from '../../../domain/errors.ts';
import type { FieldComparison } from '../../../domain/filter/step.ts';
import { type HiddenValues, workflowFile } from '../../../domain/files/values.ts';
import { shownConfig } from '../../../domain/secrets/in-templates.ts';
import { withExitRules } from '../../../domain/workflow/graph.ts';
import type { DrawnVersion } from '../../../domain/workflow/versions/version.ts';
import { Name } from '../../http/schemas.ts';
import { changedStart, newStart, presentStart } from '../../workflows/graph/starts.ts';
import { settledConfig } from '../../workflows/graph/step-config.ts';
import {
  refuseEvent,
  refuseSchedule,
  settledExitRules,
  settledWhere,
  storedSchedule,
} from '../../workflows/graph/trigger-input.ts';
import { GivenGraph, type PortableStep } from '../../workflows/portable/input.ts';
import { keyedGraph } from '../../workflows/portable/keyed-graph.ts';
import { nameInList } from './document.ts';
import { shownHeaders, unkeptHeaders } from './hidden-headers.ts';
import { type Fields, immutable, type KindReader, problemsOf } from './kind-reader.ts';
import type { ReadObject, StoredObject } from './objects.ts';
import type { References } from './references.ts';
import { WorkflowFile } from './workflow-schema.ts';

/** Reads the files of workflows. */

const WorkflowRequest = GivenGraph.extend({ name: Name, enabled: z.boolean().optional() });

type WorkflowRequest = z.output<typeof WorkflowRequest>;

export const workflowReader: KindReader<WorkflowRequest, WorkflowRequest & { enabled: boolean }> = {
  file: WorkflowFile,
  body: WorkflowRequest,
  bodyOf({ value }, references) {
    const { steps = [], allowReentry, reentry } = value;
    return {
      ...value,
      description: value['description'] ?? null,
      executionKey: value['executionKey'] ?? null,
      reentry: reentry ?? (allowReentry === undefined ? {} : undefined),
      trigger: triggerOf(value['trigger'] ?? {}, references),
      exitRules: value['exitRules'] ?? [],
      steps: Array.isArray(steps)
        ? [{ type: 'TRIGGER' }, ...steps.flatMap((step, index) => stepOf(step, index, references))]
        : steps,
      transitions: value['transitions'] ?? [],
    };
  },
  check(given) {
    const { steps, transitions, exitRules, trigger } = given;
    return [
      ...problemsOf(
        () => steps && transitions && keyedGraph({ steps, transitions, exitRules }, []),
      ),
      ...problemsOf(
        () => trigger && trigger.type !== 'EVENT' && refuseEvent(trigger.type, trigger.config),
      ),
      ...problemsOf(
        () =>
          trigger && trigger.type !== 'SCHEDULE' && refuseSchedule(trigger.type, trigger.config),
      ),
      ...problemsOf(() => changedStart(newStart, given, trigger?.type)),
    ];
  },
  checkStored(body, stored) {
    const types = new Map(storedSteps(stored).map(({ key, type }) => [key, type]));
    return body.steps.flatMap(({ key, type, config }): FieldProblem[] => {
      const before = types.get(key) ?? type;
      const changed = before === type ? [] : [immutable(`steps.${key}.type`, 'step', before)];
      const place = `steps.${key}.config.headers`;
      return [...changed, ...unkeptHeaders(credentialsOf(config), place, stored?.hidden)];
    });
  },
  settle(body, stored, object) {
    const { allowReentry: _, ...request } = body;
    const steps = settledSteps(body, stored, object);
    return { ...request, ...startOf(body), enabled: enabledOf(body, stored), steps };
  },
  placeOf(field, { value }) {
    return field
      .replace(/^triggerConfig/, 'trigger.config')
      .replace(/^trigger\.config\.segmentId$/, 'trigger.config.segment')
      .replace(/^(steps\..+\.config)\.topicId$/s, '$1.topic')
      .replace(/^(steps\.[^.]+)\.templateId$/s, '$1.template')
      .replace(/^steps\.\d+/, (written) => placeOfIndex(written, value['steps']));
  },
  valueOf(body, keys, stored, object) {
    const { name, description = null, trigger } = body;
    const { executionKey, reentry } = startOf(body);
    const enabled = enabledOf(body, stored);
    const drawn = drawnOf(body, stored, object);
    const triggerConfig = triggerConfigOf(trigger);
    const content = { name, description, enabled, executionKey, reentry, triggerConfig, drawn };
    return workflowFile(content, keys);
  },
};

function triggerOf(trigger: unknown, references: References): unknown {
  if (!isObject(trigger)) return trigger;
  const { config = {} } = trigger;
  if (!isObject(config)) return trigger;
  const { segment, segmentId: _, filter, ...rest } = config;
  const segmentId = references.idOf('segments', segment, 'trigger.config.segment');
  const condition = references.condition(filter, 'trigger.config.filter');
  return { ...trigger, config: { ...rest, segmentId, filter: condition } };
}

function stepOf(step: unknown, index: number, references: References): unknown[] {
  if (!isObject(step)) return [step];
  const { template, templateId: _, config = {}, ...rest } = step;
  const place = `steps.${nameInList(step, index, ['steps'])}`;
  if (rest['type'] === 'TRIGGER') {
    const message =
      'The trigger is no step of a file. Describe it by `trigger`; `from: trigger` leaves it.';
    references.problems.push({ field: `${place}.type`, code: 'invalid_enum_value', message });
    return [];
  }
  const settled = {
    ...rest,
    name: step['name'] ?? step['key'],
    templateId: references.idOf('templates', template, `${place}.template`),
    config: isObject(config)
      ? configOf(rest['type'], config, references, `${place}.config`)
      : config,
  };
  return [settled];
}

function configOf(type: unknown, config: Fields, references: References, place: string): Fields {
  if (type === 'SEND_EMAIL') {
    const { topic, topicId: _, templateId: _t, ...rest } = config;
    if (topic === undefined) return rest;
    return { ...rest, topicId: references.idOf('topics', topic, `${place}.topic`) };
  }
  if (type !== 'CONDITION' || config['mode'] !== 'filter') return config;
  return { ...config, branches: references.condition(config['branches'], `${place}.branches`) };
}

/** Returns the place of a step without a key. In the request, the trigger comes before it. */
function placeOfIndex(written: string, steps: unknown): string {
  const index = Number(written.slice('steps.'.length)) - 1;
  const isKey =
    Array.isArray(steps) &&
    steps.some((step: unknown) => isObject(step) && `steps.${String(step['key'])}` === written);
  return isKey || index < 0 ? written : `steps.${index}`;
}

/** Returns the settings that say when an execution starts, as if none had been set before. */
function startOf(body: WorkflowRequest) {
  const columns = changedStart(newStart, body, body.trigger?.type);
  return { executionKey: columns.execution_key, reentry: presentStart(columns).reentry };
}

function enabledOf({ enabled }: WorkflowRequest, stored: StoredObject | null): boolean {
  return enabled ?? stored?.value['enabled'] === true;
}

interface StoredStep {
  key: string;
  type: string;
  name: string;
  position: { x: number; y: number };
}

function storedSteps(stored: StoredObject | null): StoredStep[] {
  return (stored?.value['steps'] ?? []) as StoredStep[];
}

/** Returns the steps of a request, each with its stored name if the file names none. */
function settledSteps(
  { steps }: WorkflowRequest,
  stored: StoredObject | null,
  { value }: ReadObject,
): PortableStep[] {
  const names = new Map(storedSteps(stored).map(({ key, name }) => [key, name]));
  const given = [undefined, ...((value['steps'] ?? []) as { name?: unknown }[])];
  return steps.map((step, index) =>
    given[index]?.name === undefined ? { ...step, name: names.get(step.key) ?? step.name } : step,
  );
}

function drawnOf(
  body: WorkflowRequest,
  stored: StoredObject | null,
  object: ReadObject,
): DrawnVersion {
  const positions = new Map(storedSteps(stored).map(({ key, position }) => [key, position]));
  const steps = settledSteps(body, stored, object).map((step, index) => ({
    id: step.key,
    key: step.key,
    type: step.type,
    name: step.name ?? step.key,
    templateId: step.templateId,
    config: shownHeadersOf(settledConfig(step), step.key, stored?.hidden),
    position: step.position ?? positions.get(step.key) ?? { x: 100, y: 100 + 120 * index },
  }));
  const transitions = body.transitions.map(({ from, to, branch = null }, index) => ({
    id: String(index),
    fromStepId: from,
    toStepId: to,
    branch,
  }));
  const drawn = { triggerType: body.trigger?.type ?? 'EVENT', steps, transitions };
  return withExitRules(drawn, settledExitRules(body.exitRules ?? []));
}

type TriggerEvent = { eventName?: string; where?: FieldComparison[] };

function triggerConfigOf(trigger: WorkflowRequest['trigger']): TriggerSchedule & TriggerEvent {
  if (!trigger || trigger.type === 'MANUAL') return {};
  if (trigger.type === 'SCHEDULE') return storedSchedule(trigger.config);
  const { eventName, where } = trigger.config;
  const settled = settledWhere(where);
  return { ...(eventName != null && { eventName }), ...(settled && { where: settled }) };
}

/** Returns the headers of a step that are credentials. */
function credentialsOf(config: Fields): Fields {
  const found: Fields = {};
  const { headers } = shownConfig(config, () => found);
  const all = Object(config['headers']) as Fields;
  return Object.fromEntries(
    Object.entries(Object(headers) as Fields).flatMap(([name, shown]) =>
      shown === found ? [[name, all[name]]] : [],
    ),
  );
}

function shownHeadersOf(config: Fields, key: string, stored: HiddenValues | undefined): Fields {
  const credentials = credentialsOf(config);
  if (Object.keys(credentials).length === 0) return config;
  const shown = shownHeaders(credentials, `steps.${key}.config.headers`, stored);
  return { ...config, headers: { ...(config['headers'] as Fields), ...shown } };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
