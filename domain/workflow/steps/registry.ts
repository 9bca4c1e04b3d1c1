import type { z } from 'zod';
import { condition } from './condition.ts';
import { delay } from './delay.ts';
import { digest } from './digest.ts';
import { exit } from './exit.ts';
import { sendEmail } from './send-email.ts';
import { split } from './split.ts';
import type { StepModule } from './step.ts';
import { trigger } from './trigger.ts';
import { updateContact } from './update-contact.ts';
import { waitForEvent } from './wait-for-event.ts';
import { webhook } from './webhook.ts';

/** All step types, in the order of the documentation. */
const modules = {
  TRIGGER: trigger,
  SEND_EMAIL: sendEmail,
  DELAY: delay,
  WAIT_FOR_EVENT: waitForEvent,
  DIGEST: digest,
  CONDITION: condition,
  SPLIT: split,
  WEBHOOK: webhook,
  UPDATE_CONTACT: updateContact,
  EXIT: exit,
} as const satisfies Record<string, StepModule>;

export type StepType = keyof typeof modules;

/** The types that an activity of the same name performs. */
export type PerformedType = Exclude<StepType, 'TRIGGER'>;

/** The stored config of a step type. */
export type StepConfig<T extends StepType> = z.output<(typeof modules)[T]['config']>;

export const stepModules: Readonly<Record<StepType, StepModule>> = modules;

export const stepTypes = Object.keys(modules) as StepType[];

/** Returns the step types for whose module `holds` returns a truthy value. */
export function stepTypesWith(holds: (module: StepModule) => unknown): StepType[] {
  return stepTypes.filter((type) => holds(stepModules[type]));
}
