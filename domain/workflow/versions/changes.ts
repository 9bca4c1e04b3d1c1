import { isJsonEqual } from '../../filter/value.ts';
import { cutText } from '../../text-rules.ts';
import { ownConfig } from '../compare.ts';
import type { ExitRule } from '../exit-rules.ts';
import type { GraphTransition } from '../graph.ts';
import { branchName } from '../graph-rules.ts';
import { type DrawnStep, redrawing } from '../portable/redrawing.ts';
import { configDifferences, itemDifferences, valueDifferences } from './config-changes.ts';
import type { DrawnVersion } from './version.ts';

/** Describes in words the changes that a version of a workflow made. */

export const changeKinds = [
  'created',
  'restored',
  'trigger',
  'exit_rules',
  'step_added',
  'step_removed',
  'step_changed',
  'transition_added',
  'transition_removed',
] as const;

/** One change. For a change of a transition, `stepId` is the step where it begins. */
export interface VersionChange {
  kind: (typeof changeKinds)[number];
  stepId: string | null;
  name: string | null;
  text: string;
}

/** Maximum number of changes that a version lists. Further changes are left out. */
export const changesMax = 100;

/** Maximum number of characters in the text of a change. */
const textChars = 300;

/**
 * Returns the changes from one version to the next, in the order of `changeKinds`.
 * @param before null: `after` is the first version
 * @param restoredFrom the version that was restored; null: the version is an edit
 */
export function versionChanges(
  before: DrawnVersion | null,
  after: DrawnVersion,
  restoredFrom: number | null,
): VersionChange[] {
  if (!before) return [change('created', null, createdText(after))];
  const made = redrawing(before, after);
  const [stepsBefore, stepsAfter] = [byId(before.steps), byId(after.steps)];
  const steps = (ids: readonly string[], known: Map<string, DrawnStep>) =>
    ids.flatMap((id) => known.get(id) ?? []);
  const removedWays = new Set(made.removedTransitions);
  const restored = `Restored from version ${restoredFrom}`;
  const triggerTexts = triggerDifferences(before, after);
  return [
    ...(restoredFrom === null ? [] : [change('restored', null, restored)]),
    ...texts('trigger', null, 'Trigger', triggerTexts),
    ...texts('exit_rules', null, 'Exit rules', ruleDifferences(before, after)),
    ...made.addedSteps.map((step) => change('step_added', step, `${step.name}: added`)),
    ...steps(made.removedSteps, stepsBefore).map((step) =>
      change('step_removed', step, `${step.name}: removed`),
    ),
    ...made.changedSteps.flatMap((step) => {
      const old = stepsBefore.get(step.id) ?? step;
      // The name and config of the TRIGGER step follow from its event or schedule, so a change of
      // the event or schedule is listed only once.
      const isOnlyTrigger = step.type === 'TRIGGER' && triggerTexts.length > 0;
      const differences = isOnlyTrigger ? moved(old, step) : stepDifferences(old, step);
      return texts('step_changed', step, step.name, differences);
    }),
    ...made.addedTransitions.map((way) => wayChange('transition_added', way, stepsAfter)),
    ...before.transitions
      .filter(({ id }) => removedWays.has(id))
      .map((way) => wayChange('transition_removed', way, stepsBefore)),
  ].slice(0, changesMax);
}

function byId(steps: readonly DrawnStep[]): Map<string, DrawnStep> {
  return new Map(steps.map((step) => [step.id, step]));
}

type NamedStep = Pick<DrawnStep, 'id' | 'name'>;

function change(kind: VersionChange['kind'], step: NamedStep | null, text: string): VersionChange {
  const { id = null, name = null } = step ?? {};
  return { kind, stepId: id, name, text: cutText(text, textChars) };
}

/** Returns one change with all differences of `subject`; empty if there are none. */
function texts(
  kind: VersionChange['kind'],
  step: NamedStep | null,
  subject: string,
  differences: readonly string[],
): VersionChange[] {
  if (differences.length === 0) return [];
  return [change(kind, step, `${subject}: ${differences.join(', ')}`)];
}

function createdText({ steps }: DrawnVersion): string {
  const count = steps.length - 1;
  if (count <= 0) return 'Created';
  return `Created with ${count} ${count === 1 ? 'step' : 'steps'} after the trigger`;
}

function wayChange(
  kind: 'transition_added' | 'transition_removed',
  { fromStepId, toStepId, branch }: GraphTransition,
  steps: Map<string, DrawnStep>,
): VersionChange {
  const from = steps.get(fromStepId);
  const [name, to] = [from?.name ?? '?', steps.get(toStepId)?.name ?? '?'];
  const by = branch === null ? '' : ` (${from ? branchName(from, branch) : branch})`;
  const what = kind === 'transition_added' ? 'added' : 'removed';
  return change(kind, { id: fromStepId, name }, `${name} → ${to}${by}: ${what}`);
}

function triggerDifferences(before: DrawnVersion, after: DrawnVersion): string[] {
  const [configBefore, configAfter] = [before, after].map(
    ({ steps }) => steps.find(({ type }) => type === 'TRIGGER')?.config ?? {},
  );
  return [
    ...valueDifferences('type', before.triggerType, after.triggerType),
    ...configDifferences(configBefore ?? {}, configAfter ?? {}),
  ];
}

function ruleDifferences({ exitRules: before }: DrawnVersion, { exitRules: after }: DrawnVersion) {
  const items = (rules: readonly ExitRule[] = []) =>
    rules.map((rule, index) => {
      const { eventName } = rule;
      const earlier = rules.slice(0, index).filter((other) => other.eventName === eventName);
      return { ...rule, id: `${earlier.length} ${eventName}`, name: eventName };
    });
  return itemDifferences(items(before), items(after), { prefix: '', all: 'rules' });
}

function stepDifferences(before: DrawnStep, after: DrawnStep): string[] {
  return [
    ...valueDifferences('name', before.name, after.name),
    ...configDifferences(ownConfig(before), ownConfig(after)),
    ...templateDifferences(before.templateId, after.templateId),
    ...moved(before, after),
  ];
}

function templateDifferences(before: string | null, after: string | null): string[] {
  if (before === after) return [];
  if (before === null) return ['template chosen'];
  return [after === null ? 'template removed' : 'another template'];
}

function moved(before: DrawnStep, after: DrawnStep): string[] {
  return isJsonEqual(before.position, after.position) ? [] : ['moved'];
}
