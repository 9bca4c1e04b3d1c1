import { isDeepStrictEqual } from 'node:util';
import type { ReadObject } from '../../../api/files/reading/objects.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { canonicalOf } from '../../../api/files/reading/requests.ts';

/** The meaning of files: two texts that mean the same describe equal objects. */

export type Fields = Readonly<Record<string, unknown>>;

type Variables = Readonly<Record<string, string>>;

/** The file of an object as the server wrote it. */
export interface RemoteFile {
  path: string;
  text: string;
}

interface ReadFile {
  object: ReadObject;
  /** False if the server would refuse the file as it is. */
  isWhole: boolean;
}

/** Reads one file; null: it has no readable fields. */
function readOne(path: string, text: string, variables: Variables): ReadFile | null {
  const { objects, problems } = readFiles({ [path]: text }, variables);
  const [object] = objects;
  return object && !object.isUnread ? { object, isWhole: problems.length === 0 } : null;
}

/** Compares files with the one that the server wrote for their object. */
export class Meaning {
  readonly #remote: ReadFile | null;
  readonly #variables: Variables;
  /** The value of the server's file; null: this program cannot read it. */
  readonly wanted: Fields | null;

  constructor({ path, text }: RemoteFile, variables: Variables) {
    this.#remote = readOne(path, text, {});
    this.#variables = variables;
    this.wanted = this.#remote && this.#valueOf(this.#remote);
  }

  /** Returns the value of a file; null: it cannot be read. */
  of(path: string, text: string): Fields | null {
    const read = readOne(path, text, this.#variables);
    return read && this.#valueOf(read);
  }

  isSame(path: string, text: string): boolean {
    return this.wanted !== null && isDeepStrictEqual(this.of(path, text), this.wanted);
  }

  /** Returns the value that the server would write, or the read one if it would refuse the file. */
  #valueOf({ object, isWhole }: ReadFile): Fields {
    const value = this.#remote?.object.value ?? {};
    return isWhole ? canonicalOf(object, { value, hidden: new Map() }) : object.value;
  }
}
