import type { z } from 'zod';
import type { FieldProblem } from '../../../domain/errors.ts';
import type { FileKeys } from '../../../domain/files/references.ts';
import type { ReadObject, StoredObject } from './objects.ts';
import type { References } from './references.ts';

export type Fields = Record<string, unknown>;

/** How the files of one kind are read. */
export interface KindReader<Body> {
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
  checkStored?: (body: Body, stored: StoredObject | null) => readonly FieldProblem[];
  /** Returns the request for a stored object, for example with the stored hidden values. */
  settle?: (body: Body, stored: StoredObject | null) => Body;
  /** Returns the value that `GET /files` would write. */
  valueOf: (body: Body, keys: FileKeys, stored: StoredObject | null) => Fields;
  /** Fields of the body with another name in files: `templateId` for `template`. */
  renamed?: readonly (readonly [RegExp, string])[];
}

/** Returns the problem of a field that differs from the stored one, and cannot. */
export function immutable(field: string, noun: string, stored: unknown): FieldProblem {
  const message = `The ${field} of a ${noun} cannot be changed; this one is ${String(stored)}.`;
  return { field, code: 'not_allowed', message };
}
