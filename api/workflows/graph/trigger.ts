import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import type { Database } from '../../../db/database.ts';
import { findSecrets } from '../../../db/projects/secrets.ts';
import { listKnownSources } from '../../../db/reads/uses/mail-sources.ts';
import { listSegmentReferences, lockSegmentReferences } from '../../../db/segments/segments.ts';
import { changeSchedule, isScheduled, scheduleOf } from '../../../db/schedules/schedules.ts';
import {
  exitRulesOf,
  listSteps,
  updateStep,
  updateWorkflow,
  type WorkflowRow,
} from '../../../db/workflows/workflows.ts';
import { invalidField, Problem, together } from '../../../domain/errors.ts';
import { type BareName, bareStepKeyOf } from '../../../domain/filter/filter.ts';
import { mailProblems, segmentProblems } from '../../../domain/filter/references.ts';
import type { FieldComparison } from '../../../domain/filter/step.ts';
import { isJsonEqual } from '../../../domain/filter/value.ts';
import {
  foreignSecrets,
  foreignSecretsText,
  knownAddress,
  namedSecrets,
} from '../../../domain/secrets/hosts.ts';
import { segmentsOfStep } from '../../../domain/workflow/field-uses.ts';
import { noSchedule } from '../../../domain/workflow/graph-rules.ts';
import { type ExitRules } from '../../../domain/workflow/steps/schemas.ts';
import { refuseUnknownFields } from '../../contacts/known-fields.ts';
import { cutName } from '../../http/schemas.ts';
import { refuseScheduleFilter, settledSchedule } from './schedule-config.ts';
import { refuseTooLarge } from './graph.ts';
import { triggerConfig } from './record.ts';
import { stepModules, type StepType } from '../../../domain/workflow/steps/registry.ts';
import {
  refuseEvent,
  refuseSchedule,
  settledWhere,
  type TriggerConfig,
  type TriggerType,
  settledExitRules,
} from './trigger-input.ts';
import type { GivenStep } from './step-config.ts';
import { fieldsRead } from './step-config.ts';

/** The trigger of a workflow, and its exit rules. */

/** A change of a trigger. A missing part keeps its value. */
interface TriggerChange {
  triggerType?: TriggerType | undefined;
  triggerConfig?: z.output<typeof TriggerConfig> | undefined;
}

/**
 * Refuses names in the configs of steps: fields without a prefix that no contact has, unknown
 * segments, campaigns and templates, and too many segments.
 * @param steps each with `path`, the field of its config in the request
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function refuseUnknownNames(
  db: Database,
  projectId: string,
  steps: readonly (GivenStep & { path: string })[],
): Promise<void> {
  const bareNames = steps.flatMap((step) =>
    fieldsRead(step).flatMap(({ at, name }): BareName[] => {
      const key = bareStepKeyOf(name);
      return key === null ? [] : [{ field: `${step.path}.${at}`, key, name }];
    }),
  );
  await together(
    () => refuseUnknownFields(db, projectId, bareNames),
    () => refuseUnknownSegments(db, projectId, steps),
    () => refuseUnknownMail(db, projectId, steps),
  );
}

/**
 * Prevents the deletion of segments until the transaction ends, if the config of a step refers to
 * one. Call it before `refuseUnknownNames` in a transaction that stores the steps.
 */
export async function lockNamedSegments(
  tx: Database,
  projectId: string,
  steps: readonly GivenStep[],
): Promise<void> {
  if (steps.flatMap(segmentsOfStep).length > 0) await lockSegmentReferences(tx, projectId);
}

async function refuseUnknownSegments(
  db: Database,
  projectId: string,
  steps: readonly (GivenStep & { path: string })[],
): Promise<void> {
  const mentions = steps.map(({ type, config, path }) =>
    (stepModules[type].segmentsRead?.(config) ?? []).map(({ field, segmentId }) => ({
      field: `${path}.${field}`,
      segmentId,
    })),
  );
  const ids = mentions.flat().map(({ segmentId }) => segmentId);
  if (ids.length === 0) return;
  const segments = await listSegmentReferences(db, projectId, ids);
  const errors = mentions.flatMap((ofStep) => segmentProblems(ofStep, segments));
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

async function refuseUnknownMail(
  db: Database,
  projectId: string,
  steps: readonly (GivenStep & { path: string })[],
): Promise<void> {
  const mentions = steps.flatMap(({ type, config, path }) =>
    (stepModules[type].mailRead?.(config) ?? []).map((mention) => ({
      ...mention,
      field: `${path}.${mention.field}`,
    })),
  );
  const errors = mailProblems(mentions, await listKnownSources(db, projectId, mentions));
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
}

/**
 * Refuses a changed step that would send a secret to a host to which it must not go. A host in a
 * variable is checked when the step makes its request.
 * @param step.config as it will be stored
 * @param step.before the stored config; null: the step is new
 * @param path the field of the config, which errors name
 * @throws Problem VALIDATION_ERROR `not_allowed`
 */
export async function refuseForeignSecrets(
  tx: Database,
  projectId: string,
  step: {
    type: StepType;
    config: Record<string, unknown>;
    before: Record<string, unknown> | null;
  },
  path: string,
): Promise<void> {
  const { type, config, before } = step;
  const written = stepModules[type].address?.(config);
  if (written === undefined || isDeepStrictEqual(config, before)) return;
  const address = knownAddress(written);
  const names = namedSecrets(config);
  if (!address || names.length === 0) return;
  const foreign = foreignSecrets(await findSecrets(tx, projectId, names), address);
  if (foreign.length === 0) return;
  throw invalidField(`${path}.url`, 'not_allowed', foreignSecretsText(foreign, address));
}

/** Returns the name and config of the TRIGGER step for a trigger. */
export function triggerStep(row: Parameters<typeof triggerConfig>[0]) {
  const config = triggerConfig(row);
  const what = config.cron ?? config.eventName;
  return {
    name: what === undefined ? 'Trigger' : cutName(`Trigger: ${what}`),
    config: JSON.stringify(config),
  };
}

/**
 * Refuses a trigger with settings of another type, and a filter or conditions with unknown segments
 * or fields.
 * @throws Problem VALIDATION_ERROR with all errors
 */
export async function refuseTrigger(
  db: Database,
  before: Pick<WorkflowRow, 'project_id' | 'trigger_type'>,
  { triggerType: type = before.trigger_type as TriggerType, triggerConfig: given }: TriggerChange,
): Promise<void> {
  if (!given) return;
  if (type === 'SCHEDULE') {
    return together(
      () => refuseEvent(type, given),
      () => refuseScheduleFilter(db, before.project_id, given),
    );
  }
  await together(
    () => type === 'EVENT' || refuseEvent(type, given),
    () => refuseSchedule(type, given),
    () =>
      refuseUnknownFields(db, before.project_id, bareNamesIn(given.where, 'triggerConfig.where')),
  );
}

/**
 * Stores a changed trigger in the workflow and its TRIGGER step. Returns true if it changed.
 * @param after.enabled true if the workflow is enabled after the change
 * @throws Problem VALIDATION_ERROR, SEGMENT_NOT_FOUND; WORKFLOW_INVALID if the workflow is enabled
 * and its schedule has no times
 */
export async function changeTrigger(
  tx: Database,
  before: WorkflowRow,
  change: TriggerChange,
  after: { enabled: boolean },
): Promise<boolean> {
  await refuseTrigger(tx, before, change);
  const { type, eventName, schedule, where } = await triggerAfter(tx, before, change);
  const sameEvent =
    eventName === before.trigger_event_name && isJsonEqual(where, before.trigger_where);
  const sameSchedule = isJsonEqual(schedule, before.trigger_schedule);
  if (type === before.trigger_type && sameEvent && sameSchedule) return false;
  if (schedule && after.enabled && !isScheduled(schedule)) {
    throw new Problem('WORKFLOW_INVALID', { errors: [noSchedule] });
  }
  const changed = await updateWorkflow(tx, before.id, {
    trigger_type: type,
    trigger_event_name: eventName,
    trigger_where: where && JSON.stringify(where),
    trigger_schedule: schedule && JSON.stringify(schedule),
  });
  await changeSchedule(tx, changed);
  if (!sameEvent || !sameSchedule) {
    const steps = await listSteps(tx, before.id);
    const trigger = steps.find((step) => step.type === 'TRIGGER');
    if (trigger) await updateStep(tx, trigger.id, triggerStep(changed));
  }
  return true;
}

type TriggerRow = Pick<
  WorkflowRow,
  'project_id' | 'trigger_type' | 'trigger_event_name' | 'trigger_where' | 'trigger_schedule'
>;

/** Returns the trigger after a change. `refuseTrigger` must have accepted the change. */
export async function triggerAfter(
  db: Database,
  before: TriggerRow,
  { triggerType: type = before.trigger_type as TriggerType, triggerConfig: given }: TriggerChange,
) {
  if (type === 'SCHEDULE') {
    const schedule = given
      ? await settledSchedule(db, before.project_id, given)
      : scheduleOf(before);
    return { type, eventName: null, schedule, where: null };
  }
  if (type === 'MANUAL') return { type, eventName: null, schedule: null, where: null };
  return {
    type,
    eventName: given ? (given.eventName ?? null) : before.trigger_event_name,
    schedule: null,
    where: given ? settledWhere(given.where) : before.trigger_where,
  };
}

/**
 * Returns the field names without a prefix in conditions. `path` is the field of the conditions.
 */
function bareNamesIn(where: readonly FieldComparison[] | undefined, path: string): BareName[] {
  return (where ?? []).flatMap(({ field: name }, index) => {
    const key = bareStepKeyOf(name);
    return key === null ? [] : [{ field: `${path}.${index}.field`, key, name }];
  });
}

/**
 * Refuses exit rules with a field without a prefix that no contact has.
 * @throws Problem VALIDATION_ERROR
 */
export async function refuseExitRules(
  db: Database,
  projectId: string,
  rules: z.output<typeof ExitRules>,
): Promise<void> {
  const bareNames = rules.flatMap(({ where }, index) =>
    bareNamesIn(where, `exitRules.${index}.where`),
  );
  await refuseUnknownFields(db, projectId, bareNames);
}

/** Stores changed exit rules. Returns true if they changed. */
export async function changeExitRules(
  tx: Database,
  before: WorkflowRow,
  rules: z.output<typeof ExitRules>,
): Promise<boolean> {
  const settled = settledExitRules(rules);
  if (isJsonEqual(exitRulesOf(before), settled)) return false;
  await refuseExitRules(tx, before.project_id, rules);
  await updateWorkflow(tx, before.id, { exit_rules: JSON.stringify(settled) });
  await refuseTooLarge(tx, before.id);
  return true;
}
