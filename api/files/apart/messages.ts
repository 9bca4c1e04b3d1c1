import { deserialize, serialize } from 'node:v8';
import { type FileProblem, placed, type ReadObject } from '../reading/objects.ts';

/** The messages to and from the thread that reads files. */

export interface ReadTask {
  files: Readonly<Record<string, string>>;
  variables: Readonly<Record<string, string>>;
}

/** Each object is serialized, so that the receiver can read them one at a time. */
export interface ReadAnswer {
  objects: Uint8Array[];
  problems: FileProblem[];
}

export function packed(object: ReadObject): Uint8Array {
  // A function cannot be serialized.
  return serialize({ ...object, placeOf: null });
}

export function unpacked(object: Uint8Array): ReadObject {
  const read = deserialize(object) as Omit<ReadObject, 'placeOf'>;
  return { ...read, ...placed(read.places) };
}
