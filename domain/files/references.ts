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
