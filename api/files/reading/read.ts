import type { FieldCode } from '../../../domain/errors.ts';
import { placeOfNames } from '../../../domain/files/places.ts';
import { fileKeyPattern, type FileKind, parseFilePath } from '../../../domain/files/kinds.ts';
import { limits } from '../../../domain/limits.ts';
import { findTemplateFault } from '../../../domain/template/render.ts';
import { nearest } from '../../../domain/text-rules.ts';
import { type Mistake, type ReadDocument, readDocument, type TextPosition } from './document.ts';
import { splitTemplate } from './front-matter.ts';
import { type FileProblem, placed, problemAt, type ReadObject, unreadObject } from './objects.ts';
import { shapeProblems } from './requests.ts';
import { VariableReplacer } from './variables.ts';

/** Maximum number of problems of one request. */
export const problemsMax = 100;

/**
 * Reads files, and returns the objects that they describe and all problems, at most 100. An object
 * whose file cannot be read is among the objects, because other files may refer to it.
 * `everpost.yaml` and the files of journey tests are ignored.
 */
export function readFiles(
  files: Readonly<Record<string, string>>,
  variables: Readonly<Record<string, string>>,
): { objects: ReadObject[]; problems: FileProblem[] } {
  const reader = new FilesReader(variables);
  for (const [path, text] of Object.entries(files)) {
    if (!isIgnored(path)) reader.read(path, text);
  }
  return reader.finish();
}

/** Returns the problems without repeated ones, at most 100. */
export function mergeProblems(...lists: readonly (readonly FileProblem[])[]): FileProblem[] {
  const found = new Map<string, FileProblem>();
  for (const problem of lists.flat()) {
    const name = JSON.stringify([problem.path, problem.place, problem.code]);
    if (!found.has(name)) found.set(name, problem);
  }
  return [...found.values()].slice(0, problemsMax);
}

function isIgnored(path: string): boolean {
  return /(?:^|\/)(?:everpost\.yaml|[^/]*\.journey\.(?:yaml|json))$/.test(path);
}

const layout =
  'workflows/<key>.yaml, templates/<key>.html, segments/<key>.yaml, topics/<key>.yaml, ' +
  'subscriptions/<key>.yaml, policies/send.yaml and policies/consent.yaml';

class FilesReader {
  readonly #replacer: VariableReplacer;
  readonly #objects = new Map<string, ReadObject>();
  readonly #problems: FileProblem[] = [];

  constructor(variables: Readonly<Record<string, string>>) {
    this.#replacer = new VariableReplacer(variables, limits.fileBytes);
  }

  read(path: string, text: string): void {
    const parsed = parseFilePath(path);
    if (!parsed) return this.#refuse(path, 'unknown_field', pathText(path));
    const { kind, key } = parsed;
    const other = this.#objects.get(`${kind}/${key}`);
    if (other) {
      const message = `${other.path} is a file of the same object. Remove one of them.`;
      return this.#refuse(path, 'custom', message);
    }
    this.#objects.set(`${kind}/${key}`, this.#objectOf({ kind, key, path }, text));
  }

  finish(): { objects: ReadObject[]; problems: FileProblem[] } {
    const objects = [...this.#objects.values()];
    this.#settleRenames(objects);
    return { objects, problems: mergeProblems(this.#problems) };
  }

  /** Ignores a rename of an object that has its own file, and refuses two renames of one object. */
  #settleRenames(objects: readonly ReadObject[]): void {
    const renamed = new Map<string, ReadObject>();
    for (const object of objects) {
      if (object.renamedFrom === null) continue;
      const former = `${object.kind}/${object.renamedFrom}`;
      const other = renamed.get(former);
      if (this.#objects.has(former)) object.renamedFrom = null;
      else if (other) {
        const message = `${other.path} also has this \`renamedFrom\`. Keep it in one of the files.`;
        this.#problems.push(problemAt(object, 'renamedFrom', 'custom', message));
      } else renamed.set(former, object);
    }
  }

  #objectOf(file: Pick<ReadObject, 'kind' | 'key' | 'path'>, text: string): ReadObject {
    const unread = unreadObject(file);
    if (text.length > limits.contentBodyBytes) {
      const message = `Must have at most ${limits.contentBodyBytes} characters, not ${text.length}.`;
      this.#refuse(file.path, 'too_big', message);
      return unread;
    }
    const document = documentOf(file, text);
    if (!document) {
      this.#refuse(file.path, 'required', frontMatterText);
      return unread;
    }
    const { value, mistakes, placeOf } = document;
    for (const mistake of mistakes) this.#problems.push(problemOf(file.path, mistake));
    if (mistakes.length > 0) return unread;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#refuse(file.path, 'invalid_type', 'Must be an object with fields.');
      return unread;
    }
    const { renamedFrom, ...fields } = this.#replaced({ ...file, placeOf }, value);
    const { body } = document;
    if (body !== undefined && 'body' in fields) {
      const message = 'The body is the text after the second line `---`. Remove this field.';
      this.#problems.push(problemAt({ ...file, placeOf }, 'body', 'unknown_field', message));
    }
    const object = {
      ...unread,
      value: { ...fields, ...(body !== undefined && { body }) },
      isUnread: false,
      placeOf,
    };
    this.#problems.push(...bodyProblems(object), ...shapeProblems(object));
    const former = this.#renamedFrom(object, renamedFrom);
    // The document is large, so only the positions of its outer places are kept.
    return { ...object, renamedFrom: former, ...placed(document.places()) };
  }

  #replaced(file: Pick<ReadObject, 'path' | 'placeOf'>, value: object): Record<string, unknown> {
    const replaced = this.#replacer.replace(value, (path, code, message) => {
      this.#problems.push(problemAt(file, placeOfNames(path), code, message));
    });
    return replaced as Record<string, unknown>;
  }

  /** Returns the former key in a file; null: none, or it is the key of the file. */
  #renamedFrom(object: ReadObject, given: unknown): string | null {
    if (given === undefined || given === null) return null;
    const refuse = (code: FieldCode, message: string) => {
      this.#problems.push(problemAt(object, 'renamedFrom', code, message));
      return null;
    };
    if (object.kind === 'topic') {
      return refuse('not_allowed', 'The key of a topic cannot be changed. Remove `renamedFrom`.');
    }
    if (object.kind === 'send-policy' || object.kind === 'consent-policy') {
      return refuse('unknown_field', 'A policy has no `renamedFrom`. Remove it.');
    }
    if (typeof given !== 'string')
      return refuse('invalid_type', 'Must be the former key, as text.');
    if (!fileKeyPattern.test(given)) return refuse('invalid_string', 'Must be the former key.');
    return given === object.key ? null : given;
  }

  #refuse(path: string, code: FieldCode, message: string): void {
    this.#problems.push({ path, place: null, line: null, column: null, code, message });
  }
}

const frontMatterText =
  'Must begin with its fields between two lines `---`, such as `name` and `subject`. The body follows.';

type FileDocument = ReadDocument & { body?: string };

/** Reads the text of a file; null: a template without front matter. */
function documentOf(
  { kind, path }: { kind: FileKind; path: string },
  text: string,
): FileDocument | null {
  if (kind !== 'template') return readDocument(text, path.endsWith('.json') ? 'json' : 'yaml');
  const parts = splitTemplate(text);
  if (!parts) return null;
  const { frontMatter, frontMatterLine, body, bodyLine } = parts;
  const document = readDocument(frontMatter, 'yaml', frontMatterLine);
  const placeOf = (place: string): TextPosition | null =>
    place === 'body' ? { line: bodyLine, column: 1 } : document.placeOf(place);
  const places = () => document.places().set('body', { line: bodyLine, column: 1 });
  return { ...document, value: document.value ?? {}, body, placeOf, places };
}

/** Returns the error of a template's body, with its position in the file. */
function bodyProblems(object: ReadObject): FileProblem[] {
  const { body } = object.value;
  const fault = object.kind === 'template' && typeof body === 'string' && findTemplateFault(body);
  if (!fault) return [];
  const problem = problemAt(object, 'body', 'invalid_template', fault.message);
  const { line, column } = fault;
  return [{ ...problem, ...(line !== null && { line: (problem.line ?? 1) + line - 1, column }) }];
}

function problemOf(path: string, { place, position, code, message }: Mistake): FileProblem {
  const { line, column } = position ?? { line: null, column: null };
  return { path, place, line, column, code, message };
}

/** Returns the error of a path at which no file is read. */
function pathText(path: string): string {
  const [folder = ''] = path.split('/');
  const folders = ['workflows', 'templates', 'segments', 'topics', 'subscriptions', 'policies'];
  const meant = nearest(folder, folders, 2);
  const hint = meant === undefined || meant === folder ? '' : ` Did you mean "${meant}/"?`;
  return `No file has this path.${hint} Files are ${layout}. A key is 1 to 50 of the characters a-z, 0-9, _ and -.`;
}
