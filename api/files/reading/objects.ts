import type { FieldCode } from '../../../domain/errors.ts';
import type { FileKind } from '../../../domain/files/kinds.ts';
import { cutPlace } from '../../../domain/files/places.ts';
import type { TextPosition } from './document.ts';

/** The objects that files describe, and the mistakes in files. */

export interface FileProblem {
  path: string;
  /** Dot path in the file, with steps by their keys; null: the file as a whole. */
  place: string | null;
  line: number | null;
  column: number | null;
  code: FieldCode;
  message: string;
}

/** An object as its file describes it. References are still keys. */
export interface ReadObject {
  kind: FileKind;
  key: string;
  path: string;
  /** The key of the object that gets the key of this file, if no object has it; null: none. */
  renamedFrom: string | null;
  /** The fields of the file, with variables replaced. A template also has `body`. */
  value: Readonly<Record<string, unknown>>;
  /** True if the text cannot be read. Then `value` has no fields. */
  isUnread: boolean;
  /** Returns the position of a place, or of the innermost known place that contains it. */
  placeOf: (place: string) => TextPosition | null;
  /** The positions of the outer places. */
  places: ReadonlyMap<string, TextPosition>;
}

/** Returns the parts of an object that tell the positions of its places. */
export function placed(
  places: ReadonlyMap<string, TextPosition>,
): Pick<ReadObject, 'places' | 'placeOf'> {
  const placeOf = (place: string): TextPosition | null => {
    // A loop instead of recursion: a key may have more dots than the call stack has room for.
    let outer = place;
    while (outer !== '' && !places.has(outer)) {
      outer = outer.slice(0, Math.max(0, outer.lastIndexOf('.')));
    }
    return places.get(outer) ?? null;
  };
  return { places, placeOf };
}

/** Returns the object of a file whose text cannot be read. Other files may refer to it. */
export function unreadObject(file: Pick<ReadObject, 'kind' | 'key' | 'path'>): ReadObject {
  return { ...file, renamedFrom: null, value: {}, isUnread: true, ...placed(new Map()) };
}

/** The ids of the objects that files refer to. Each map is by key. */
export interface FileIds {
  templates: ReadonlyMap<string, string>;
  segments: ReadonlyMap<string, string>;
  topics: ReadonlyMap<string, string>;
}

/** The stored object with the key of a file. */
export interface StoredObject {
  /** The value that `GET /files` writes. */
  value: Readonly<Record<string, unknown>>;
  /** The values that are hidden in `value`, by place: `headers.X-Token`. */
  hidden: ReadonlyMap<string, string>;
}

/** Returns a problem at a place of an object's file. */
export function problemAt(
  { path, placeOf }: Pick<ReadObject, 'path' | 'placeOf'>,
  place: string | null,
  code: FieldCode,
  message: string,
): FileProblem {
  const shown = place === null ? null : cutPlace(place);
  const position = placeOf(shown ?? '');
  return {
    path,
    place: shown,
    line: position?.line ?? null,
    column: position?.column ?? null,
    code,
    message,
  };
}

/** Returns the field that names a problem in an error: `files.<path>#<place>`. */
export function fieldOfProblem({ path, place }: FileProblem): string {
  return place === null ? `files.${path}` : `files.${path}#${place}`;
}
