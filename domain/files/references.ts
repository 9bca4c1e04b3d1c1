/** The keys of the objects that files refer to. Each map is by the id of the object. */
export interface FileKeys {
  templates: ReadonlyMap<string, string>;
  segments: ReadonlyMap<string, string>;
  topics: ReadonlyMap<string, string>;
}

/** Returns the key of an object, or its id if the object was deleted. */
export function keyOr(keys: ReadonlyMap<string, string>, id: string): string {
  return keys.get(id) ?? id;
}

const segmentField = /^segment\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;
const templateField = /^template\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\..+)$/i;

/** Returns the name of a filter's field in files: with keys in place of ids. */
function fieldInFile(field: string, keys: FileKeys): string {
  const [, segmentId] = segmentField.exec(field) ?? [];
  if (segmentId !== undefined) return `segment.${keyOr(keys.segments, segmentId.toLowerCase())}`;
  const [, templateId, event] = templateField.exec(field) ?? [];
  if (templateId === undefined) return field;
  return `template.${keyOr(keys.templates, templateId.toLowerCase())}${event}`;
}

/**
 * Returns a condition or the config of a step, with keys in place of ids in the fields of filters.
 */
export function withFileKeys<T>(value: T, keys: FileKeys): T {
  if (Array.isArray(value)) return value.map((item: unknown) => withFileKeys(item, keys)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]: [string, unknown]) => [
    name,
    name === 'field' && typeof inner === 'string'
      ? fieldInFile(inner, keys)
      : withFileKeys(inner, keys),
  ]);
  return Object.fromEntries(entries) as T;
}

/** The kinds of objects that files refer to. */
export type ReferredKind = 'template' | 'segment' | 'topic';

/** An object that a file refers to, by its key. */
export interface FileReference {
  kind: ReferredKind;
  key: string;
}

/**
 * Returns the objects that the value of a file refers to, each once: in fields of filters, and in
 * the fields that have a key.
 */
export function referencesIn(value: Readonly<Record<string, unknown>>): FileReference[] {
  const found = new Map<string, FileReference>();
  const add = (kind: ReferredKind, key: unknown) => {
    if (typeof key === 'string') found.set(`${kind}/${key}`, { kind, key });
  };
  const { trigger, steps } = value;
  add('template', value['template']);
  add('topic', value['topic']);
  add('segment', configOf(trigger)['segment']);
  for (const step of Array.isArray(steps) ? (steps as unknown[]) : []) {
    add('template', (Object(step) as { template?: unknown }).template);
    add('topic', configOf(step)['topic']);
  }
  collectFields(value, (field) => {
    const [root, key, ...rest] = field.split('.');
    if (root === 'segment' && rest.length === 0) add('segment', key);
    if (root === 'template' && rest.length > 0) add('template', key);
  });
  return [...found.values()];
}

function configOf(holder: unknown): Record<string, unknown> {
  const { config } = Object(holder) as { config?: unknown };
  return Object(config) as Record<string, unknown>;
}

function collectFields(value: unknown, add: (field: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === 'field' && typeof inner === 'string') add(inner);
    else collectFields(inner, add);
  }
}
