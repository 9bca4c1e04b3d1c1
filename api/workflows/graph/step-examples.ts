import { stepModules, stepTypes } from '../../../domain/workflow/steps/registry.ts';

/**
 * Bodies of POST …/steps for the documentation: one for each type of step, or for each form of a
 * type.
 */
export const stepExamples = Object.fromEntries(
  stepTypes.flatMap((type) =>
    stepModules[type].examples.map(({ form, ...example }) => [
      form === undefined ? type : `${type} ${form}`,
      { type, ...example },
    ]),
  ),
);
