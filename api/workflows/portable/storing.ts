import { v7 as uuidV7 } from 'uuid';
import type { z } from 'zod';
import { columnsFrom } from '../../../db/columns.ts';
import type { Database } from '../../../db/database.ts';
import { changeSchedule } from '../../../db/schedules/schedules.ts';
import { findDrawing, redraw } from '../../../db/workflows/drawing.ts';
import { storeVersion } from '../../../db/workflows/versions.ts';
import { updateWorkflow, type WorkflowRow } from '../../../db/workflows/workflows.ts';
import { invalidField, together } from '../../../domain/errors.ts';
import type { Graph } from '../../../domain/workflow/graph.ts';
import type { GraphWarning } from '../../../domain/workflow/graph-rules.ts';
import {
  type Drawing,
  type DrawnStep,
  isRedrawn,
  redrawing,
} from '../../../domain/workflow/portable/redrawing.ts';
import { findWarnings, refuseBroken } from '../graph/enabling.ts';
import { outcomeOf, refuseTooLarge } from '../graph/graph.ts';
import { renamed } from '../graph/proposed-graph.ts';
import { changedStart, newStart } from '../graph/starts.ts';
import { requireTopics } from '../../topics/references.ts';
import { requireTemplates } from '../graph/steps.ts';
import {
  refuseUnknownNames,
  changeExitRules,
  changeTrigger,
  lockNamedSegments,
  refuseExitRules,
  refuseForeignSecrets,
  refuseTrigger,
} from '../graph/trigger.ts';
import { settledConfig, topicOfConfig, withKept, withTemplate } from '../graph/step-config.ts';
import { type GivenGraph, type PortableStep } from './input.ts';
import { keyedGraph } from './keyed-graph.ts';

type Given = z.output<typeof GivenGraph>;

/**
 * Stores the settings and the graph of a request in a workflow that the caller has locked for
 * editing. Returns the row if a setting has changed, and true if the graph has changed.
 * @throws Problem as `storeGraph`
 */
export async function replaceGraph(
  tx: Database,
  workflow: WorkflowRow,
  given: Given,
): Promise<{ settled: WorkflowRow | undefined; changed: boolean }> {
  const settled = await changeSettings(tx, workflow, given);
  return { settled, changed: await storeGraph(tx, workflow, given, []) };
}

/**
 * Stores the settings that do not belong to a version. Returns the row if a setting has changed.
 */
async function changeSettings(
  tx: Database,
  before: WorkflowRow,
  given: Given,
): Promise<WorkflowRow | undefined> {
  const { name, description, trigger } = given;
  const after = {
    ...columnsFrom({ name, description }),
    ...changedStart(before, given, trigger?.type),
  };
  const isSame = Object.entries(after).every(
    ([column, value]) => before[column as keyof WorkflowRow] === value,
  );
  return isSame ? undefined : updateWorkflow(tx, before.id, after);
}

/**
 * Stores the trigger, exit rules, steps and transitions of a request in a workflow that the caller
 * has locked for editing. Steps with a known key keep their id. Returns true if anything has
 * changed.
 * @param path the fields that contain the graph, the outermost first
 * @throws Problem VALIDATION_ERROR, TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND, SEGMENT_NOT_FOUND,
 * WORKFLOW_INVALID
 */
async function storeGraph(
  tx: Database,
  workflow: WorkflowRow,
  given: Given,
  path: readonly string[],
): Promise<boolean> {
  const keyed = keyedGraph(given, path);
  const { trigger, exitRules } = given;
  const rulesChanged =
    exitRules !== undefined &&
    (await inPlace(path, () => changeExitRules(tx, workflow, exitRules)));
  const triggerChanged = trigger !== undefined && (await storeTrigger(tx, workflow, trigger, path));
  // Read after the trigger was stored, because storing it renames the TRIGGER step.
  const before = await findDrawing(tx, workflow);
  const after = await drawingOf(tx, workflow, { given, keyed }, before, path);
  const redrawn = await storeDrawing(tx, workflow, before, after);
  return triggerChanged || rulesChanged || redrawn;
}

/**
 * Replaces the steps and transitions of a workflow that the caller has locked for editing. Returns
 * true if anything has changed.
 * @throws Problem TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND
 */
export async function storeDrawing(
  tx: Database,
  workflow: WorkflowRow,
  before: Drawing,
  after: Drawing,
): Promise<boolean> {
  const made = redrawing(before, after);
  const used = [...made.addedSteps, ...made.changedSteps];
  const templateIds = used.map(({ templateId }) => templateId);
  await requireTemplates(tx, workflow.project_id, templateIds);
  const topicIds = used.map(({ config }) => topicOfConfig(config));
  await requireTopics(tx, workflow.project_id, topicIds);
  const stepsById = new Map(after.steps.map((step) => [step.id, step]));
  await redraw(tx, workflow, made, ({ fromStepId, branch }) => {
    const from = stepsById.get(fromStepId);
    return from ? outcomeOf(from, branch) : null;
  });
  return isRedrawn(made);
}

/**
 * Refuses a graph that breaks a rule, or refers to unknown fields or segments.
 * @param workflow null: it does not exist yet
 * @param path the fields that contain the graph, the outermost first
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function refuseGraph(
  db: Database,
  projectId: string,
  workflow: WorkflowRow | null,
  given: Partial<Given>,
  path: readonly string[],
): Promise<void> {
  const { steps = [], transitions = [], exitRules = [], trigger } = given;
  const before = workflow ?? { ...newStart, project_id: projectId };
  const drawn = workflow ? (await findDrawing(db, workflow)).steps : [];
  const change = trigger && { triggerType: trigger.type, triggerConfig: trigger.config };
  await together(
    () => steps.length > 0 && keyedGraph({ steps, transitions, exitRules }, path),
    () => inPlace(path, () => refuseExitRules(db, projectId, exitRules)),
    () => change && inPlace(path, () => refuseTrigger(db, before, change)),
    () => inPlace(path, () => changedStart(before, given, trigger?.type)),
    () => drawnSteps(db, projectId, steps, drawn, path),
  );
}

async function storeTrigger(
  tx: Database,
  workflow: WorkflowRow,
  { type, config }: NonNullable<Given['trigger']>,
  path: readonly string[],
): Promise<boolean> {
  const change = { triggerType: type, triggerConfig: config };
  return inPlace(path, () => changeTrigger(tx, workflow, change, workflow));
}

/**
 * Runs `work`. If it throws an error about fields of a workflow, they are renamed to fields of the
 * request.
 */
export async function inPlace<T>(path: readonly string[], work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw renamed(error, (field) => inGraph(field, path));
  }
}

/**
 * Returns the field of a request for a field of a workflow: `trigger.config` for `triggerConfig`.
 */
function inGraph(field: string, path: readonly string[]): string {
  return [...path, field.replace(/^triggerConfig/, 'trigger.config')].join('.');
}

/** Returns the graph to store. Steps with known keys keep their ids. */
async function drawingOf(
  tx: Database,
  { project_id: projectId }: WorkflowRow,
  { given, keyed }: { given: Given; keyed: Graph },
  before: Drawing,
  path: readonly string[],
): Promise<Drawing> {
  await lockNamedSegments(tx, projectId, given.steps);
  const steps = await drawnSteps(tx, projectId, given.steps, before.steps, path);
  const ids = new Map(steps.map(({ key, id }) => [key, id]));
  const transitions = keyed.transitions.map(({ fromStepId, toStepId, branch }) => ({
    id: uuidV7(),
    fromStepId: ids.get(fromStepId) ?? '',
    toStepId: ids.get(toStepId) ?? '',
    branch,
  }));
  return { steps, transitions };
}

/**
 * Returns the steps to store.
 * @throws Problem VALIDATION_ERROR with all errors
 */
async function drawnSteps(
  db: Database,
  projectId: string,
  given: readonly PortableStep[],
  before: readonly DrawnStep[],
  path: readonly string[],
): Promise<DrawnStep[]> {
  const known = new Map(before.map((step) => [step.key, step]));
  const steps: DrawnStep[] = [];
  const placed = given.map((step) => ({
    ...step,
    path: [...path, 'steps', step.key, 'config'].join('.'),
  }));
  await together(
    () => refuseUnknownNames(db, projectId, placed),
    ...given.map((step, index) => async () => {
      const field = [...path, 'steps', step.key].join('.');
      const old = known.get(step.key);
      if (old && old.type !== step.type) {
        const message = `The step "${step.key}" is of the type ${old.type}, which cannot change. Give the new step another key.`;
        throw invalidField(`${field}.type`, 'not_allowed', message);
      }
      const position = step.position ?? old?.position ?? { x: 100, y: 100 + 120 * index };
      const place = `${field}.config`;
      const config = configOf({ ...step, config: settledConfig(step) }, old, place);
      const changed = { type: step.type, config, before: old?.config ?? null };
      await refuseForeignSecrets(db, projectId, changed, place);
      steps.push({
        id: old?.id ?? uuidV7(),
        key: step.key,
        type: step.type,
        name: step.name ?? old?.name ?? step.key,
        config,
        templateId: step.templateId,
        position,
      });
    }),
  );
  return steps;
}

/** Returns the config of a step to store. The TRIGGER keeps its config, which `changeTrigger` stores. */
function configOf(
  { type, config, templateId }: PortableStep,
  old: DrawnStep | undefined,
  field: string,
): Record<string, unknown> {
  if (type === 'TRIGGER') return old?.config ?? {};
  const kept = withKept(config, old?.config ?? {}, field);
  const hasCopy = old !== undefined && 'templateId' in old.config;
  return withTemplate(hasCopy ? { ...kept, templateId } : kept, templateId);
}

/**
 * Stores the graph of a request in a new workflow. Warnings name steps by their keys.
 * @param options.path the fields that contain the graph, the outermost first
 * @param options.enabled true if the workflow is enabled at once
 * @param options.broken the result of `findBrokenTemplates`, for a workflow that is enabled
 * @param options.causedBy the result of `actorOf`
 * @throws Problem VALIDATION_ERROR, TEMPLATE_NOT_FOUND, TOPIC_NOT_FOUND, SEGMENT_NOT_FOUND,
 * WORKFLOW_INVALID
 */
export async function fillWorkflow(
  tx: Database,
  workflow: WorkflowRow,
  given: Given,
  {
    path,
    enabled,
    broken,
    causedBy,
  }: {
    path: readonly string[];
    enabled: boolean;
    broken: ReadonlyMap<string, string> | undefined;
    causedBy: string | null;
  },
): Promise<{ filled: WorkflowRow; warnings: GraphWarning[] }> {
  await storeGraph(tx, workflow, given, path);
  await refuseTooLarge(tx, workflow.id);
  const filled = await updateWorkflow(tx, workflow.id, { enabled });
  await storeVersion(tx, filled, { causedBy });
  const keyed = keyedGraph(given, path);
  const warnings = await findWarnings(tx, filled, keyed);
  if (!enabled) return { filled, warnings };
  await changeSchedule(tx, filled);
  await inPlace(path, () => refuseBroken(tx, filled, keyed, broken));
  return { filled, warnings };
}
