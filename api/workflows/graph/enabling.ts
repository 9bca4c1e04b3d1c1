import type { Database } from '../../../db/database.ts';
import { isScheduled, scheduleOf } from '../../../db/schedules/schedules.ts';
import { findTemplateSenders, readTemplates } from '../../../db/templates/templates.ts';
import { hasExecutionKey, keyEventsMax } from '../../../db/workflows/execution-keys.ts';
import {
  findWorkflow,
  findWorkflowGraph,
  type WorkflowRow,
} from '../../../db/workflows/workflows.ts';
import { found, Problem } from '../../../domain/errors.ts';
import { stepFieldOf } from '../../../domain/filter/filter.ts';
import {
  enablingProblems,
  type GraphWarning,
  graphWarnings,
} from '../../../domain/workflow/graph-rules.ts';
import { type Graph, type GraphStep, templateIdsOf } from '../../../domain/workflow/graph.ts';
import { unknownKeyTexts } from '../../contacts/known-fields.ts';
import type { Services } from '../../services/services.ts';
import { findBrokenText } from '../../templates/stored.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';

/** Maximum number of templates that are read at once, because each may have 2 MB. */
const readAtOnce = 5;

type Reading = Pick<Services, 'db' | 'renderer'>;

/**
 * Returns the error of each invalid template of a workflow, by template id. Call it before a
 * transaction begins, because parsing a large template takes seconds.
 * @throws Problem WORKFLOW_NOT_FOUND
 */
export async function findBrokenInWorkflow(
  reading: Reading,
  projectId: string,
  workflowId: string,
): Promise<ReadonlyMap<string, string>> {
  found('WORKFLOW', workflowId, await findWorkflow(reading.db, projectId, workflowId));
  const { steps } = await findWorkflowGraph(reading.db, workflowId);
  return findBrokenTemplates(reading, projectId, steps);
}

/** Returns the error of each invalid template that steps use, by template id. */
export async function findBrokenTemplates(
  { db, renderer }: Reading,
  projectId: string,
  steps: readonly { templateId?: string | null | undefined }[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(steps.flatMap((step) => step.templateId ?? []))];
  const broken = new Map<string, string>();
  for (let at = 0; at < ids.length; at += readAtOnce) {
    for (const template of await readTemplates(db, ids.slice(at, at + readAtOnce))) {
      if (template.project_id !== projectId) continue;
      const text = await findBrokenText(renderer, template, projectId);
      if (text) broken.set(template.id, `in its ${text.field}: ${text.message}`);
    }
  }
  return broken;
}

/**
 * Refuses a graph that cannot run.
 * @param broken the result of `findBrokenTemplates`
 * @throws Problem WORKFLOW_INVALID with all reasons
 */
export async function refuseBroken(
  db: Database,
  workflow: Pick<WorkflowRow, 'project_id' | 'trigger_type' | 'trigger_event_name'> & {
    trigger_schedule: unknown;
  },
  graph: Graph,
  broken: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const senders = await findTemplateSenders(db, workflow.project_id, templateIdsOf(graph));
  const errors = enablingProblems(
    graph,
    {
      type: workflow.trigger_type,
      eventName: workflow.trigger_event_name,
      isScheduled: isScheduled(scheduleOf(workflow)),
    },
    new Map([...senders].map(([id, sender]) => [id, { ...sender, broken: broken.get(id) }])),
  );
  if (errors.length > 0) throw new Problem('WORKFLOW_INVALID', { errors });
}

/** Maximum number of warnings of one graph, the same as for a template. */
export const warningsMax = 100;

/**
 * Returns warnings about a valid graph, at most 100.
 * @param givenKeys keys of contact data that cause no warning even if no contact has them
 */
export async function findWarnings(
  db: Database,
  workflow: WarnedWorkflow,
  graph: Graph,
  givenKeys: Iterable<string> = [],
): Promise<GraphWarning[]> {
  const given = new Set([...givenKeys, ...graph.steps.flatMap(writtenKeys)]);
  const read = graph.steps.flatMap((step) =>
    readKeys(step)
      .filter(({ key, name }) => !given.has(key) && !given.has(name))
      .map((keys) => ({ step: step.id, ...keys })),
  );
  const keys = [...new Set(read.flatMap(({ key, name }) => [key, name]))];
  const texts = await unknownKeyTexts(db, workflow.project_id, keys);
  const unknown = read.flatMap(({ step, key, name }): GraphWarning[] => {
    const message = texts.get(key);
    const isKnown = message === undefined || !texts.has(name);
    return isKnown ? [] : [{ code: 'unknown_field', message, step }];
  });
  const ofKey = await findKeyWarnings(db, workflow, graph);
  return [...graphWarnings(graph), ...ofKey, ...unknown].slice(0, warningsMax);
}

type WarnedWorkflow = Pick<WorkflowRow, 'project_id' | 'execution_key' | 'trigger_event_name'>;

/**
 * Returns warnings about the execution key: about waits that an event with any key ends, and about
 * a path at which no recent event has a key.
 */
async function findKeyWarnings(
  db: Database,
  { project_id: projectId, execution_key: path, trigger_event_name: eventName }: WarnedWorkflow,
  { steps }: Graph,
): Promise<GraphWarning[]> {
  if (path === null) return [];
  const waits = steps.filter(({ type, config }) => {
    const given = config as { where?: unknown[]; eventName?: string };
    const rests = stepModules[type]?.rests;
    // A digest of the starting event compares the key automatically.
    const isAny = rests === 'wait' || (rests === 'digest' && given.eventName !== eventName);
    return isAny && !given.where?.length;
  });
  const trigger = steps.find(({ type }) => type === 'TRIGGER');
  const hasKey =
    eventName === null || (await hasExecutionKey(db, projectId, { eventName, executionKey: path }));
  const seen = `None of the last ${keyEventsMax} events "${eventName}" has ${path}, the execution key. Such events start no execution.`;
  return [
    ...waits.map(({ id, name }): GraphWarning => {
      const message = `"${name}" also takes events with another execution key. Add a condition on ${path} to its \`where\`.`;
      return { code: 'not_by_key', message, step: id };
    }),
    ...(trigger && !hasKey
      ? [{ code: 'key_never_seen', message: seen, step: trigger.id } as const]
      : []),
  ];
}

/**
 * Returns the paths in contact data that a step reads: `name` is the path, `key` its first part.
 */
function readKeys({ type, config }: GraphStep): { key: string; name: string }[] {
  return (stepModules[type]?.fieldsRead?.(config) ?? []).flatMap((read) => {
    const place = stepFieldOf(read.name);
    if (place?.root !== 'contact' || place.field.kind !== 'data') return [];
    const { path } = place.field;
    return [{ key: path[0] ?? '', name: path.join('.') }];
  });
}

/** Returns the keys of contact data that a step may set. */
function writtenKeys({ type, config }: GraphStep): string[] {
  return stepModules[type]?.contactChanges?.(config).dataKeys ?? [];
}
