import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { findSecrets } from '../../db/projects/secrets.ts';
import { changeSchedule, isScheduled, scheduleOf } from '../../db/schedules/schedules.ts';
import { exitRulesOf } from '../../db/workflows/exits.ts';
import {
  listSteps,
  updateStep,
  updateWorkflow,
  type WorkflowRow,
} from '../../db/workflows/workflows.ts';
import { invalidField, Problem } from '../../domain/errors.ts';
import { bareKeyOf, fullStepName } from '../../domain/filter/filter.ts';
import { isJsonEqual } from '../../domain/filter/value.ts';
import { foreignSecrets, knownAddress, namedSecrets } from '../../domain/secrets/hosts.ts';
import { meantMailEvent } from '../../domain/workflow/event-names.ts';
import { noSchedule } from '../../domain/workflow/graph.ts';
import { selection } from '../../domain/filter/selection.ts';
import { EventName, type ExitRules } from '../../domain/workflow/steps.ts';
import { refuseUnknownFields } from '../contacts/known-fields.ts';
import { cutName } from '../http/schemas.ts';
import { refuseSchedule, scheduleFields, settledSchedule } from '../schedules/config.ts';
import { refuseTooLarge } from './graph.ts';
import { triggerConfig } from './record.ts';

/** What starts the executions of a workflow, and what ends them whatever they are doing. */

export const TriggerConfig = selection({ eventName: EventName.nullish(), ...scheduleFields });

/** How a workflow is started. */
export const TriggerType = z.enum(['EVENT', 'MANUAL', 'SCHEDULE']);

/** A new trigger; what is left out stays. */
interface TriggerChange {
  triggerType?: z.output<typeof TriggerType> | undefined;
  triggerConfig?: z.output<typeof TriggerConfig> | undefined;
}

/** @throws Problem VALIDATION_ERROR `reserved_event` for an event under `email.` that never happens */
export function refuseUnmadeEvent(eventName: string, field: string): void {
  const meant = meantMailEvent(eventName);
  if (meant === null) return;
  const message = `There is no such event of mail. Did you mean "${meant}"?`;
  throw invalidField(field, 'reserved_event', message, eventName);
}

/**
 * The config of a step as it is stored, with full names of fields.
 * @param before the stored one; null: the step is new
 * @param path the field of the config, which errors name
 * @throws Problem VALIDATION_ERROR `unsupported_field` for a name without a prefix that no contact
 *   has, `reserved_event` for an event that the step newly waits for and that never happens
 */
export async function settledConfig(
  db: Database,
  projectId: string,
  { type, config }: { type: string; config: Record<string, unknown> },
  before: Record<string, unknown> | null,
  path: string,
): Promise<Record<string, unknown>> {
  const { eventName } = config;
  if (type === 'WAIT_FOR_EVENT' && eventName !== before?.['eventName']) {
    refuseUnmadeEvent(String(eventName), `${path}.eventName`);
  }
  const name = type === 'DELAY' ? 'untilField' : 'field';
  const field = config[name];
  if ((type !== 'CONDITION' && type !== 'DELAY') || typeof field !== 'string') return config;
  const key = bareKeyOf(field);
  if (key !== null) await refuseUnknownFields(db, projectId, [{ field: `${path}.${name}`, key }]);
  return { ...config, [name]: fullStepName(field) };
}

/**
 * Refuses a changed WEBHOOK step whose address names a host to which one of its secrets must not go. What
 * only the request tells is decided when it is made.
 * @param step.config as it will be stored
 * @param step.before the stored one; null: the step is new
 * @param path the field of the config, which errors name
 * @throws Problem VALIDATION_ERROR `not_allowed`
 */
export async function refuseForeignSecrets(
  tx: Database,
  projectId: string,
  step: {
    type: string;
    config: Record<string, unknown>;
    before: Record<string, unknown> | null;
  },
  path: string,
): Promise<void> {
  const { type, config, before } = step;
  if (type !== 'WEBHOOK' || isDeepStrictEqual(config, before)) return;
  const address = knownAddress(String(config['url']));
  const names = namedSecrets(config);
  if (!address || names.length === 0) return;
  const foreign = foreignSecrets(await findSecrets(tx, projectId, names), address);
  if (foreign.length === 0) return;
  const message = `These secrets must not go to ${address.host}: ${foreign.join(', ')}. See their hosts.`;
  throw invalidField(`${path}.url`, 'not_allowed', message);
}

/** The trigger as the TRIGGER step shows it. */
export function triggerStep(row: Parameters<typeof triggerConfig>[0]) {
  const config = triggerConfig(row);
  const what = config.cron ?? config.eventName;
  return {
    name: what === undefined ? 'Trigger' : cutName(`Trigger: ${what}`),
    config: JSON.stringify(config),
  };
}

/**
 * Stores a changed trigger in the workflow and its TRIGGER step. Returns whether it changed.
 * @param after whether the workflow is enabled then
 * @throws Problem VALIDATION_ERROR, SEGMENT_NOT_FOUND; WORKFLOW_INVALID for a schedule without times of an
 *   enabled workflow
 */
export async function changeTrigger(
  tx: Database,
  before: WorkflowRow,
  change: TriggerChange,
  after: { enabled: boolean },
): Promise<boolean> {
  const type = change.triggerType ?? before.trigger_type;
  const { triggerConfig: given } = change;
  if (given && type !== 'EVENT' && given.eventName) {
    throw invalidField('triggerConfig.eventName', 'not_allowed', `${type} has no event.`);
  }
  if (given && type !== 'SCHEDULE') refuseSchedule(type, given);
  const eventName =
    type !== 'EVENT' ? null : given ? (given.eventName ?? null) : before.trigger_event_name;
  const schedule =
    type !== 'SCHEDULE'
      ? null
      : given
        ? await settledSchedule(tx, before.project_id, given)
        : scheduleOf(before);
  const sameEvent = eventName === before.trigger_event_name;
  const sameSchedule = isJsonEqual(schedule, before.trigger_schedule);
  if (type === before.trigger_type && sameEvent && sameSchedule) return false;
  if (!sameEvent && eventName !== null) {
    refuseUnmadeEvent(eventName, 'triggerConfig.eventName');
  }
  if (schedule && after.enabled && !isScheduled(schedule)) {
    throw new Problem('WORKFLOW_INVALID', { errors: [noSchedule] });
  }
  const changed = await updateWorkflow(tx, before.id, {
    trigger_type: type,
    trigger_event_name: eventName,
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

/** Stores changed exit rules. Returns whether they changed. */
export async function changeExitRules(
  tx: Database,
  before: WorkflowRow,
  rules: z.output<typeof ExitRules>,
): Promise<boolean> {
  const stored = exitRulesOf(before);
  const settled = rules.map(({ where, ...rule }) => ({
    ...rule,
    ...(where && { where: where.map((part) => ({ ...part, field: fullStepName(part.field) })) }),
  }));
  if (isJsonEqual(stored, settled)) return false;
  const known = new Set(stored.map(({ eventName }) => eventName));
  for (const [index, { eventName }] of rules.entries()) {
    if (!known.has(eventName)) refuseUnmadeEvent(eventName, `exitRules.${index}.eventName`);
  }
  const bareNames = rules.flatMap(({ where = [] }, index) =>
    where.flatMap(({ field }, part) => {
      const key = bareKeyOf(field);
      return key === null ? [] : [{ field: `exitRules.${index}.where.${part}.field`, key }];
    }),
  );
  await refuseUnknownFields(tx, before.project_id, bareNames);
  await updateWorkflow(tx, before.id, { exit_rules: JSON.stringify(settled) });
  await refuseTooLarge(tx, before.id);
  return true;
}
