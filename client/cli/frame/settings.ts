import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import { parseFilePattern } from '../../../domain/files/kinds.ts';
import { exitCodes, Failure, type Fault, unreadable } from './failure.ts';
import { hintOf } from './hint.ts';

/** `everpost.yaml` of a folder. */
export interface FolderSettings {
  /** Patterns of the objects that this folder manages; empty: all. */
  only: readonly string[];
  /** Patterns of the objects that are never deleted. */
  protect: readonly string[];
  variables: Readonly<Record<string, string>>;
  profiles: Readonly<Record<string, { url?: string; variables: Readonly<Record<string, string>> }>>;
  /** The project of the tests. */
  project: { name?: string; language?: string };
}

export const settingsName = 'everpost.yaml';

const none: FolderSettings = { only: [], protect: [], variables: {}, profiles: {}, project: {} };

/** @throws Failure if the file cannot be read, has mistakes, or contains a key */
export async function readSettings(dir: string): Promise<FolderSettings> {
  const file = join(dir, settingsName);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none;
    throw unreadable(`${file} cannot be read: ${(error as Error).message}`);
  }
  return parseSettings(text);
}

/** @throws Failure naming all mistakes */
export function parseSettings(text: string): FolderSettings {
  if (/(?<![a-z0-9_])sk_[a-z0-9]/i.test(text)) throw keyInside();
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, merge: false });
  if (document.errors.length > 0) {
    const [{ message, linePos }] = document.errors as [(typeof document.errors)[0]];
    const place = linePos ? `:${linePos[0].line}:${linePos[0].col}` : '';
    throw unreadable(`${settingsName}${place}: ${message.split('\n')[0]}`);
  }
  const faults: Fault[] = [];
  const read = new Reader((field, message) => faults.push({ field, message }));
  const settings = read.settings(valueOf(document));
  if (faults.length > 0) {
    throw new Failure('UNREADABLE_FILE', exitCodes.wrongCall, `${settingsName} has mistakes.`, {
      errors: faults,
    });
  }
  return settings;
}

function valueOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    throw unreadable(`${settingsName} cannot have aliases.`);
  }
}

function keyInside(): Failure {
  return unreadable(
    `${settingsName} contains a key. Files are for version control: remove it there, revoke the key, and run everpost login or set EVERPOST_KEY.`,
  );
}

type Fields = Record<string, unknown>;

/** Reads values, and reports each mistake with its place. */
class Reader {
  readonly #report: (field: string, message: string) => void;

  constructor(report: (field: string, message: string) => void) {
    this.#report = report;
  }

  settings(value: unknown): FolderSettings {
    const known = ['only', 'protect', 'variables', 'profiles', 'project'];
    const { only, protect, variables, profiles, project } = this.#fields('', value, known);
    return {
      only: this.#patterns('only', only),
      protect: this.#patterns('protect', protect),
      variables: this.#variables('variables', variables),
      profiles: this.#profiles(profiles),
      project: this.#texts('project', project, ['name', 'language']),
    };
  }

  #profiles(value: unknown): FolderSettings['profiles'] {
    const profiles = Object.entries(this.#fields('profiles', value));
    return Object.fromEntries(
      profiles.map(([name, inner]) => {
        const place = `profiles.${name}`;
        const { variables, url } = this.#fields(place, inner, ['url', 'variables']);
        const read = this.#variables(`${place}.variables`, variables);
        return [name, { ...this.#texts(place, url === undefined ? {} : { url }), variables: read }];
      }),
    );
  }

  #patterns(place: string, value: unknown): string[] {
    if (value == null) return [];
    if (!Array.isArray(value)) {
      this.#report(place, 'Must be a list of patterns, such as [template/*].');
      return [];
    }
    return value.filter((pattern: unknown, index): pattern is string => {
      const isPattern = typeof pattern === 'string' && parseFilePattern(pattern) !== null;
      if (!isPattern)
        this.#report(`${place}.${index}`, 'Must be a pattern, such as template/shop-*.');
      return isPattern;
    });
  }

  #variables(place: string, value: unknown): Record<string, string> {
    const variables = this.#texts(place, value);
    for (const name of Object.keys(variables)) {
      if (!/^[A-Z][A-Z0-9_]{0,63}$/.test(name)) {
        this.#report(`${place}.${name}`, 'The name of a variable has capitals, digits and "_".');
      }
    }
    return variables;
  }

  #texts(place: string, value: unknown, known?: readonly string[]): Record<string, string> {
    const entries = Object.entries(this.#fields(place, value, known));
    return Object.fromEntries(
      entries.filter((entry): entry is [string, string] => {
        const isText = typeof entry[1] === 'string';
        if (!isText) this.#report(`${place}.${entry[0]}`, 'Must be a text. Put numbers in quotes.');
        return isText;
      }),
    );
  }

  #fields(place: string, value: unknown, known?: readonly string[]): Fields {
    if (value == null) return {};
    if (typeof value !== 'object' || Array.isArray(value)) {
      this.#report(place, 'Must be a mapping.');
      return {};
    }
    for (const name of Object.keys(value)) {
      if (!known || known.includes(name)) continue;
      if (name === 'key') throw keyInside();
      const field = place === '' ? name : `${place}.${name}`;
      this.#report(field, `There is no such field here.${hintOf(name, known)}`);
    }
    return value as Fields;
  }
}
