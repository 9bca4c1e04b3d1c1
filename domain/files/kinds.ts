/**
 * The kinds of objects that a project keeps as files, and the names of the files. A key identifies
 * an object among those of its kind; it is the same in every project.
 */

/** The kinds, in the order in which they are listed. */
export const fileKinds = [
  'workflow',
  'template',
  'segment',
  'topic',
  'event-subscription',
  'send-policy',
  'consent-policy',
] as const;

export type FileKind = (typeof fileKinds)[number];

/** The kinds whose objects have a separate key that only files use. */
export const keyedKinds = ['workflow', 'template', 'segment', 'event-subscription'] as const;

export type KeyedKind = (typeof keyedKinds)[number];

export function isKeyedKind(kind: FileKind): kind is KeyedKind {
  return (keyedKinds as readonly FileKind[]).includes(kind);
}

const folders: Readonly<Record<FileKind, string>> = {
  workflow: 'workflows',
  template: 'templates',
  segment: 'segments',
  topic: 'topics',
  'event-subscription': 'subscriptions',
  'send-policy': 'policies',
  'consent-policy': 'policies',
};

/** The folders in which files are. */
export const fileFolders: readonly string[] = [...new Set(Object.values(folders))];

/** The keys of the policies, of which a project has one each. */
export const policyKeys = { 'send-policy': 'send', 'consent-policy': 'consent' } as const;

export const fileFormats = ['yaml', 'json'] as const;

export type FileFormat = (typeof fileFormats)[number];

/** Returns the path of an object's file. Templates are HTML in every format. */
export function filePathOf(kind: FileKind, key: string, format: FileFormat): string {
  return `${folders[kind]}/${key}.${kind === 'template' ? 'html' : format}`;
}

/** A key in a file's name, in a reference and in `renamedFrom`. */
export const fileKeyPattern = /^[a-z0-9][a-z0-9_-]{0,49}$/;

const endings = { template: /^\.(?:html|liquid)$/, other: /^\.(?:yaml|json)$/ };

/** Returns the object of a file; null: no object has a file with this path. */
export function parseFilePath(path: string): { kind: FileKind; key: string } | null {
  const [, folder, key = '', ending = ''] = /^([a-z]+)\/([a-z0-9_-]+)(\.[a-z]+)$/.exec(path) ?? [];
  if (!fileKeyPattern.test(key)) return null;
  const kind = fileKinds.find(
    (one) => folders[one] === folder && (!(one in policyKeys) || policyOf(one) === key),
  );
  const allowed = kind === 'template' ? endings.template : endings.other;
  return kind && allowed.test(ending) ? { kind, key } : null;
}

function policyOf(kind: FileKind): string | undefined {
  return (policyKeys as Partial<Record<FileKind, string>>)[kind];
}

/** `<kind>/<key>`, or `<kind>/<beginning of a key>*`. */
export interface FilePattern {
  kind: FileKind;
  beginning: string;
  /** True if `beginning` is the whole key, false if the pattern ends in `*`. */
  isKey: boolean;
}

/** Parses a pattern; null: the text is no pattern. */
export function parseFilePattern(text: string): FilePattern | null {
  const [, kind, beginning = '', star] = /^([a-z-]+)\/([a-z0-9_-]*)(\*?)$/.exec(text) ?? [];
  if (!isFileKind(kind) || (beginning === '' && star === '')) return null;
  return { kind, beginning, isKey: star === '' };
}

function isFileKind(text: string | undefined): text is FileKind {
  return (fileKinds as readonly (string | undefined)[]).includes(text);
}

/** Returns true if one of the patterns matches the object. */
export function matchesFile(
  patterns: readonly FilePattern[],
  { kind, key }: { kind: FileKind; key: string },
): boolean {
  return patterns.some(
    (pattern) =>
      pattern.kind === kind &&
      (pattern.isKey ? key === pattern.beginning : key.startsWith(pattern.beginning)),
  );
}
