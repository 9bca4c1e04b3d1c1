import type { z } from 'zod';
import { type FieldCode, type FieldProblem, Problem } from '../../domain/errors.ts';
import { findForbiddenText } from '../../domain/text-rules.ts';

type Issue = z.core.$ZodIssue;

/** The validated parts of a request. */
export interface RequestParts {
  params: unknown;
  query: unknown;
  body: unknown;
}

/**
 * Validates path, query and body together.
 * @throws Problem VALIDATION_ERROR with every issue of all three.
 */
export function checkRequest(
  schemas: { params?: z.ZodType; query?: z.ZodType; body?: z.ZodType },
  given: RequestParts,
): RequestParts {
  const errors: FieldProblem[] = [];
  const checked: RequestParts = { params: undefined, query: undefined, body: undefined };
  for (const part of ['params', 'query', 'body'] as const) {
    const path = findForbiddenText(given[part]);
    if (path) {
      errors.push({
        field: path.join('.'),
        code: 'invalid_string',
        message: 'Must not hold NUL or half of a character pair.',
      });
      continue;
    }
    const schema = schemas[part];
    if (!schema) continue;
    const parsed = schema.safeParse(given[part], { reportInput: true });
    if (parsed.success) checked[part] = parsed.data;
    else errors.push(...parsed.error.issues.flatMap((issue) => fieldProblem(issue)));
  }
  if (errors.length > 0) throw new Problem('VALIDATION_ERROR', { errors });
  return checked;
}

function fieldProblem(issue: Issue): FieldProblem {
  const field = issue.path.map(String).join('.');
  if (issue.input === undefined && issue.code !== 'custom') {
    return { field, message: 'Is required.', code: 'invalid_type', received: 'undefined' };
  }
  const received = receivedOf(issue);
  return {
    field,
    message: issue.message,
    code: fieldCode(issue),
    ...(received === undefined ? {} : { received }),
  };
}

/** The kind of a wrong type that was received, never the value, which may be a secret. */
function receivedOf(issue: Issue): string | undefined {
  if (issue.code === 'custom') return issue.params?.['received'] as string | undefined;
  return issue.code === 'invalid_type' ? kindOf(issue.input) : undefined;
}

function fieldCode(issue: Issue): FieldCode {
  switch (issue.code) {
    case 'invalid_type':
    case 'too_small':
    case 'too_big':
    case 'invalid_union':
      return issue.code;
    case 'invalid_format':
      return 'invalid_string';
    case 'invalid_value':
      return 'invalid_enum_value';
    case 'custom':
      return (issue.params?.['code'] as FieldCode | undefined) ?? 'custom';
    default:
      return 'custom';
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
