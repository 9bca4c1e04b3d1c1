import type { FieldProblem } from '../../../domain/errors.ts';
import { cutPlace, placeIn } from '../../../domain/files/places.ts';
import type { FileIds } from './objects.ts';

/** Replaces the keys in a file by the ids of the objects that have them. */

/** The id in place of an unknown key, so that the rest of the value can be checked. */
const noId = '00000000-0000-4000-8000-000000000000';

const nouns = { templates: 'template', segments: 'segment', topics: 'topic' } as const;

export class References {
  readonly problems: FieldProblem[] = [];
  readonly #ids: FileIds;

  constructor(ids: FileIds) {
    this.#ids = ids;
  }

  /** Returns the id of a key. A value that is no text is returned unchanged. */
  idOf(kind: keyof FileIds, key: unknown, field: string): unknown {
    if (typeof key !== 'string') return key;
    const id = this.#ids[kind].get(key);
    if (id !== undefined) return id;
    const noun = nouns[kind];
    const message = `There is no ${noun} "${key}" in the files or in the project.`;
    this.problems.push({ field: cutPlace(field), code: 'not_found', message });
    return noId;
  }

  /**
   * Returns a condition with ids in place of the keys in the fields of its filters: in
   * `segment.<key>` and `template.<key>.<event>`.
   */
  condition(value: unknown, field: string): unknown {
    if (Array.isArray(value)) {
      return value.map((item: unknown, index) =>
        this.condition(item, placeIn(field, String(index))),
      );
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([name, inner]: [string, unknown]) => {
      const at = placeIn(field, name);
      const isName = name === 'field' && typeof inner === 'string';
      return [name, isName ? this.#name(inner, at) : this.condition(inner, at)];
    });
    return Object.fromEntries(entries);
  }

  #name(name: string, field: string): string {
    const [root, key = '', ...rest] = name.split('.');
    if (root === 'segment' && rest.length === 0) {
      return `segment.${String(this.idOf('segments', key, field))}`;
    }
    if (root === 'template' && rest.length > 0) {
      return ['template', this.idOf('templates', key, field), ...rest].join('.');
    }
    return name;
  }
}

/**
 * The ids of objects that are not known yet: every key has an id of its own. `keys` returns the
 * keys of these ids.
 */
export class MadeIds implements FileIds {
  readonly templates = new MadeMap('1');
  readonly segments = new MadeMap('2');
  readonly topics = new MadeMap('3');

  get keys() {
    return {
      templates: this.templates.keysById,
      segments: this.segments.keysById,
      topics: this.topics.keysById,
    };
  }
}

class MadeMap extends Map<string, string> {
  readonly keysById = new Map<string, string>();
  readonly #kind: string;

  constructor(kind: string) {
    super();
    this.#kind = kind;
  }

  override get(key: string): string {
    const known = super.get(key);
    if (known !== undefined) return known;
    const number = this.size.toString(16).padStart(12, '0');
    const id = `${this.#kind}0000000-0000-4000-8000-${number}`;
    this.set(key, id);
    this.keysById.set(id, key);
    return id;
  }
}
