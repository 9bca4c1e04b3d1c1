import { z } from 'zod';
import { stepModules, stepTypes, type StepType } from '../../../domain/workflow/steps/registry.ts';
import { chosenBy, inputSchema, JsonObject } from '../../http/schemas.ts';

/** Steps in requests. */

export const Position = z.object({ x: z.number(), y: z.number() });

export type Typed<Base extends z.ZodObject> = z.output<Base> & {
  type: StepType;
  config: Record<string, unknown>;
};

const pascalCase = (type: StepType) =>
  type.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** The config of each step type, as a named component of the OpenAPI document. */
const configs = new Map(
  stepTypes.map((type) => [
    type,
    (stepModules[type].config as z.ZodType).meta({ id: `${pascalCase(type)}Config` }),
  ]),
);

/**
 * Returns the schema of a step in a request. The type of the step determines the schema of its
 * config.
 * @param prefix prefix of the names of the OpenAPI components, such as `New` for `NewDelayStep`
 */
export function ofTypes<Base extends z.ZodObject>(
  prefix: string,
  types: readonly StepType[],
  base: Base,
) {
  const type = z.enum(types);
  const schemas = new Map<unknown, z.ZodType>(
    types.map((word) => [word, base.extend({ type, config: stepModules[word].config })]),
  );
  const ofNoType = base.extend({ type, config: JsonObject });
  return chosenBy((value) => {
    const word = typeof value === 'object' && value !== null && 'type' in value && value.type;
    return (schemas.get(word) ?? ofNoType) as z.ZodType<Typed<Base>>;
  }).meta({
    oneOf: types.map((word) => {
      const schema = base.extend({ type: z.literal(word), config: configs.get(word) });
      return inputSchema(schema.meta({ id: `${prefix}${pascalCase(word)}Step` }));
    }),
  });
}
