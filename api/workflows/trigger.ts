import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { exitRulesOf } from '../../db/workflows/exits.ts';
import {
  listSteps,
  updateStep,
  updateWorkflow,
  type WorkflowRow,
} from '../../db/workflows/workflows.ts';
import { invalidField } from '../../domain/errors.ts';
import { bareKeyOf, fullStepName } from '../../domain/filter/filter.ts';
import { isJsonEqual } from '../../domain/filter/value.ts';
import { meantMailEvent } from '../../domain/workflow/event-names.ts';
import { EventName, type ExitRules } from '../../domain/workflow/steps.ts';
import { refuseUnknownFields } from '../contacts/known-fields.ts';
import { cutName, fault } from '../http/schemas.ts';
import { refuseTooLarge } from './graph.ts';
import { triggerConfig } from './record.ts';

/** What starts the executions of a workflow, and what ends them whatever they are doing. */

export const TriggerEvent = z
  .string()
  .transform((name) => name.trim())
  .pipe(EventName);

export const TriggerConfig = z.object({ eventName: TriggerEvent.nullish() });

/** How a workflow is started. */
export const TriggerType = z
  .enum(['EVENT', 'MANUAL', 'SCHEDULE'])
  .refine(
    (type) => type !== 'SCHEDULE',
    fault('not_allowed', 'Workflows cannot be started by a schedule.'),
  );

/** A new trigger; what is left out stays. */
interface TriggerChange {
  triggerType?: string | undefined;
  triggerConfig?: { eventName?: string | null | undefined } | undefined;
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

/** The trigger as the TRIGGER step shows it. */
export function triggerStep(eventName: string | null) {
  return {
    name: eventName === null ? 'Trigger' : cutName(`Trigger: ${eventName}`),
    config: JSON.stringify(triggerConfig(eventName)),
  };
}

/** Stores a changed trigger in the workflow and its TRIGGER step. Returns whether it changed. */
export async function changeTrigger(
  tx: Database,
  before: WorkflowRow,
  change: TriggerChange,
): Promise<boolean> {
  const type = change.triggerType ?? before.trigger_type;
  const given = change.triggerConfig && (change.triggerConfig.eventName ?? null);
  if (type === 'MANUAL' && given) {
    throw invalidField('triggerConfig.eventName', 'not_allowed', 'MANUAL has no event.');
  }
  const eventName =
    type === 'MANUAL' ? null : given === undefined ? before.trigger_event_name : given;
  const sameEvent = eventName === before.trigger_event_name;
  if (type === before.trigger_type && sameEvent) return false;
  if (!sameEvent && eventName !== null) {
    refuseUnmadeEvent(eventName, 'triggerConfig.eventName');
  }
  await updateWorkflow(tx, before.id, { trigger_type: type, trigger_event_name: eventName });
  if (!sameEvent) {
    const steps = await listSteps(tx, before.id);
    const trigger = steps.find((step) => step.type === 'TRIGGER');
    if (trigger) await updateStep(tx, trigger.id, triggerStep(eventName));
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
