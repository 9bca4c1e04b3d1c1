import { z } from 'zod';
import { unknownKeyText } from '../text-rules.ts';

/**
 * Maximum number of unknown keys that a message names. A malicious body could have a hundred
 * thousand.
 */
const namedMax = 100;

/**
 * Returns the schema of an object that selects the targets of an action. Unknown keys are always
 * refused, because a misspelt filter that is ignored would select everything. The message has one
 * line for each unknown key.
 */
export function selection<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys
            .slice(0, namedMax)
            .map((key) => unknownKeyText(key, known))
            .join('\n')
        : undefined,
  });
}

/**
 * Wraps a schema so that it reads only own keys of an object. Otherwise it would find `valueOf`, a
 * method that all JavaScript objects inherit.
 */
export function ownKeys<Schema extends z.ZodType>(schema: Schema) {
  return z.preprocess(
    (input) =>
      typeof input === 'object' && input !== null && !Array.isArray(input)
        ? Object.assign(Object.create(null), input)
        : input,
    schema,
  );
}
