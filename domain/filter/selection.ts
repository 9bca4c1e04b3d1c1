import { z } from 'zod';
import { unknownKeyText } from '../text-rules.ts';

/**
 * Maximum number of unknown keys that a message names. A hostile body could have a hundred thousand.
 */
const namedMax = 100;

/**
 * An object that selects the targets of an action. An unknown key is always refused, because ignoring
 * a filter would select everything. The issue's message has one line for each unknown key.
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
 * Returns a schema that reads only an object's own keys. Otherwise it would find `valueOf` in every
 * object, because JavaScript's objects inherit a method of this name.
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
