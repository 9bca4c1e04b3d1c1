import type { z } from 'zod';
import { type FieldProblem, Refusals } from '../../../domain/errors.ts';
import type { FileKeys } from '../../../domain/files/references.ts';
import type { ReadObject, StoredObject } from './objects.ts';
import type { References } from './references.ts';

export type Fields = Record<string, unknown>;

/**
 * How the files of one kind are read. `Request` is the body once the stored object is known.
 */
export interface KindReader<Body, Request extends Body = Body> {
  /** The fields that a file can have. */
  file: z.ZodType;
  /**
   * Returns the body of the request that creates the object, before it is checked. A field that the
   * file leaves out has its default.
   */
  bodyOf: (object: ReadObject, references: References) => Fields;
  /** The schema of the body: that of the object's own endpoint. */
  body: z.ZodType<Body>;
  /**
   * Returns the problems that the schema does not find.
   * @param body without the fields for which the schema has problems
   */
  check?: (body: Partial<Body>, object: ReadObject) => readonly FieldProblem[];
  /** Returns the problems of a file that describes a stored object, or a new one. */
  checkStored?: (
    body: Body,
    stored: StoredObject | null,
    object: ReadObject,
  ) => readonly FieldProblem[];
  /** Returns the request for a stored object, with the stored values of fields that stay. */
  settle?: (body: Body, stored: StoredObject | null, object: ReadObject) => Request;
  /** Returns the value that `GET /files` would write. */
  valueOf: (body: Body, keys: FileKeys, stored: StoredObject | null, object: ReadObject) => Fields;
  /** Returns the place in the file of a field of the request: `template` for `templateId`. */
  placeOf?: (field: string, object: ReadObject) => string;
}

/** Returns the problem of a field that differs from the stored one, and cannot. */
export function immutable(field: string, noun: string, stored: unknown): FieldProblem {
  const name = field.slice(field.lastIndexOf('.') + 1);
  const message = `The ${name} of a ${noun} cannot be changed; this one is ${String(stored)}.`;
  return { field, code: 'not_allowed', message };
}

/** Returns the invalid fields that a check throws. */
export function problemsOf(check: () => unknown): readonly FieldProblem[] {
  const refusals = new Refusals();
  refusals.try(check);
  return refusals.errors;
}
