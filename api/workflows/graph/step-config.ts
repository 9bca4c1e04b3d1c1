import { invalidField, Refusals } from '../../../domain/errors.ts';
import { fullStepName } from '../../../domain/filter/filter.ts';
import { keptConfig } from '../../../domain/secrets/in-templates.ts';
import { stepModules, type StepType } from '../../../domain/workflow/steps/registry.ts';

/** Configs of steps in requests. */

export interface GivenStep {
  type: StepType;
  config: Record<string, unknown>;
}

export function fieldsRead({ type, config }: GivenStep): { at: string; name: string }[] {
  return stepModules[type].fieldsRead?.(config) ?? [];
}

/** Returns the config of a step in its stored form, with the full names of fields. */
export function settledConfig(step: GivenStep): Record<string, unknown> {
  const config = structuredClone(step.config);
  for (const { at, name } of fieldsRead(step)) {
    const keys = at.split('.');
    const last = keys.pop() ?? '';
    const parent = keys.reduce((inner, key) => inner[key] as Record<string, unknown>, config);
    parent[last] = fullStepName(name);
  }
  return stepModules[step.type].settled?.(config) ?? config;
}

/** Returns the template id in a config. Only the config of SEND_EMAIL has a template id. */
export function templateOfConfig(config: Record<string, unknown>): string | null | undefined {
  return config['templateId'] as string | null | undefined;
}

/** Returns the topic in a config. Only the config of SEND_EMAIL has a topic. */
export function topicOfConfig(config: Record<string, unknown>): string | null | undefined {
  return config['topicId'] as string | null | undefined;
}

/**
 * Replaces the template id in a config by the template id of the step. A config without a template
 * id is returned unchanged.
 */
export function withTemplate(config: Record<string, unknown>, templateId: string | null) {
  return 'templateId' in config ? { ...config, templateId } : config;
}

/**
 * Returns the config with stored values in place of masked values.
 * @param field the field of the config in the request, for the error
 * @throws Problem VALIDATION_ERROR for a masked value without a stored value.
 */
export function withKept(
  given: Record<string, unknown>,
  stored: Record<string, unknown>,
  field = 'config',
): Record<string, unknown> {
  const { config, missing } = keptConfig(given, stored);
  const refusals = new Refusals();
  for (const name of missing) {
    const message =
      'Is a masked value, but no value is stored for this header. Send the real value.';
    refusals.add(invalidField(`${field}.headers.${name}`, 'not_allowed', message));
  }
  refusals.throw();
  return config;
}
