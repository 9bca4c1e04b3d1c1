import { operators, unitMs } from './filter.ts';

/**
 * Returns the JSON Schemas of a condition in both forms, for the documentation.
 * @param more additional properties of filters
 */
export function conditionJsonSchemas(more: Readonly<Record<string, object>> = {}) {
  const filter = {
    type: 'object',
    properties: {
      field: { type: 'string' },
      operator: { type: 'string', enum: [...operators] },
      value: {},
      unit: { type: 'string', enum: Object.keys(unitMs) },
      ...more,
    },
    required: ['field', 'operator'],
    additionalProperties: false,
  } as const;
  const group = {
    type: 'object',
    properties: {
      filters: { type: 'array', items: filter },
      conditions: { type: ['object', 'null'], description: 'A condition inside this group' },
    },
    additionalProperties: false,
  } as const;
  const logics = { type: 'string', enum: ['AND', 'OR'] } as const;
  return {
    condition: {
      type: 'object',
      properties: { logic: logics, groups: { type: 'array', items: group, minItems: 1 } },
      required: ['logic', 'groups'],
      additionalProperties: false,
    },
    flat: {
      type: 'object',
      properties: {
        operator: logics,
        conditions: { type: 'array', items: filter, minItems: 1 },
      },
      required: ['operator', 'conditions'],
      additionalProperties: false,
    },
  } as const;
}

export const valueOfText =
  'Compares with this field, in place of value: event., context. or contact.';

/** The properties that only the filters of a CONDITION step have. */
export const stepFilterProperties = {
  valueOf: { type: 'string', description: valueOfText },
} as const;
