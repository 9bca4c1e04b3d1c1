import { stepModules, stepTypes } from '../../../domain/workflow/steps/registry.ts';

/** For the documentation: a body of each type that POST …/steps takes, and of each form of a type. */
export const stepExamples = Object.fromEntries(
  stepTypes.flatMap((type) =>
    stepModules[type].examples.map(({ form, ...example }) => [
      form === undefined ? type : `${type} ${form}`,
      { type, ...example },
    ]),
  ),
);
