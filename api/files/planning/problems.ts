import type { FieldCode, FieldProblem, ProblemCode } from '../../../domain/errors.ts';
import { Problem } from '../../../domain/errors.ts';
import {
  fieldOfProblem,
  type FileProblem,
  problemAt,
  type ReadObject,
} from '../reading/objects.ts';
import { problemsMax } from '../reading/read.ts';
import { inFile } from '../reading/requests.ts';

/** The problems of files: as those of requests to the objects' own endpoints. */

/** Problems that other objects cause. They block a change; its file is right. */
export const blockingCodes = [
  'WORKFLOW_HAS_ACTIVE_EXECUTIONS',
  'TEMPLATE_IN_USE',
  'SEGMENT_IN_USE',
  'TOPIC_IN_USE',
  'TOPIC_LIMIT',
  'EVENT_SUBSCRIPTION_LIMIT',
] as const;

export type BlockingCode = (typeof blockingCodes)[number];

export function isBlocking(code: ProblemCode): code is BlockingCode {
  return (blockingCodes as readonly ProblemCode[]).includes(code);
}

/** Places and codes of problems that are no invalid fields at the object's own endpoint. */
const others: Partial<Record<ProblemCode, { place: string | null; code: FieldCode }>> = {
  DOMAIN_NOT_REGISTERED: { place: 'from', code: 'not_allowed' },
  DOMAIN_NOT_VERIFIED: { place: 'from', code: 'not_allowed' },
  SEGMENT_NOT_FOUND: { place: null, code: 'not_found' },
  TEMPLATE_NOT_FOUND: { place: null, code: 'not_found' },
  TOPIC_NOT_FOUND: { place: null, code: 'not_found' },
};

/** Returns the problems of a file for which the object's own endpoint would answer `problem`. */
export function problemsIn(object: ReadObject, problem: Problem): FileProblem[] {
  const { code, message, errors } = problem;
  if (!errors) {
    const other = others[code] ?? { place: null, code: 'custom' as const };
    return [problemAt(object, other.place, other.code, message)];
  }
  const prefix = `files.${object.path}`;
  return errors.map((error) => {
    const { field } = error;
    // A problem of the file itself already has its place.
    if (field === prefix || field.startsWith(`${prefix}#`)) {
      return problemAt(object, field.slice(prefix.length + 1) || null, error.code, error.message);
    }
    const renamed = field.replace(/^graph\./, '').replace(/^triggerConfig/, 'trigger.config');
    // A graph that cannot run is `custom`, whatever it lacks.
    const itemCode = code === 'WORKFLOW_INVALID' ? 'custom' : error.code;
    return inFile(object, { ...error, field: renamed, code: itemCode });
  });
}

/** Returns the answer to a request with these problems of files, at most 100. */
export function refusal(problems: readonly FileProblem[]): Problem {
  const errors = problems.slice(0, problemsMax).map((problem): FieldProblem => {
    const { code, message, line, column } = problem;
    return { field: fieldOfProblem(problem), code, message, line, column };
  });
  return new Problem('VALIDATION_ERROR', { errors });
}
