import { matchesFile, parseFilePath, parseFilePattern } from '../../../domain/files/kinds.ts';
import type { Everpost } from '../../everpost.ts';
import type { Call } from '../frame/command.ts';
import { exitCodes, Failure } from '../frame/failure.ts';
import type { Project } from '../frame/profiles.ts';
import { type Files, readFolder } from './local-files.ts';
import type { RemoteFile } from './meaning.ts';
import { newText, updatedText } from './merge.ts';
import { checkRemotePath } from './writing.ts';

/** A file of the folder beside the one of the project. */
export interface ComparedFile {
  /** The path in the folder, or in the project if the folder has no file of the object. */
  path: string;
  /** The text in the folder; null: there is none. */
  local: string | null;
  /** The text that pull would write; null: the project has no such object. */
  remote: string | null;
}

/** Reads the folder and the project, and compares their files, in the order of the paths. */
export async function compareFolder(
  call: Pick<Call, 'dir' | 'settings' | 'api' | 'project' | 'signal'>,
  profile?: string,
): Promise<ComparedFile[]> {
  const { only } = await call.settings();
  const { variables } = await call.project(profile);
  const local = chosen(await readFolder(call.dir), only);
  refuseTwoOfOne(Object.keys(local));
  const remote = await readProject(await call.api(profile), only, call.signal);
  return compare(local, remote, variables);
}

/** Returns the files that match one of the patterns; without patterns all files. */
export function chosen(files: Files, only: readonly string[]): Files {
  if (only.length === 0) return files;
  const patterns = only.map(parseFilePattern).filter((pattern) => pattern !== null);
  const isChosen = (path: string) => {
    const object = parseFilePath(path);
    return object === null || matchesFile(patterns, object);
  };
  return Object.fromEntries(Object.entries(files).filter(([path]) => isChosen(path)));
}

/** @throws Failure if an object has two files, for example `topics/news.yaml` and `topics/news.json` */
function refuseTwoOfOne(paths: readonly string[]): void {
  const byObject = new Map<string, string>();
  const errors = paths.flatMap((path) => {
    const other = byObject.get(objectOf(path));
    byObject.set(objectOf(path), path);
    const message = `${other} is a file of the same object. Remove one of them.`;
    return other === undefined ? [] : [{ field: path, message }];
  });
  if (errors.length === 0) return;
  throw new Failure('TWO_FILES', exitCodes.wrongCall, 'An object has two files.', { errors });
}

/** @throws Failure if the server names a path outside the layout */
async function readProject(
  everpost: Everpost,
  only: readonly string[],
  signal: AbortSignal,
): Promise<RemoteFile[]> {
  const query = only.length === 0 ? {} : { only: only.join(',') };
  const { files, objects } = await everpost.get('/files', { query, signal });
  for (const path of [...Object.keys(files), ...objects.map((object) => object.path)]) {
    checkRemotePath(path);
  }
  return Object.entries(files).map(([path, text]) => ({ path, text }));
}

function compare(
  local: Files,
  remote: readonly RemoteFile[],
  variables: Project['variables'],
): ComparedFile[] {
  const byObject = new Map(Object.keys(local).map((path) => [objectOf(path), path]));
  const files: ComparedFile[] = remote.map((file) => {
    const path = byObject.get(objectOf(file.path));
    if (path === undefined) return { path: file.path, local: null, remote: newText(file) };
    byObject.delete(objectOf(file.path));
    const text = local[path]!;
    return { path, local: text, remote: updatedText(path, text, file, variables) };
  });
  for (const path of byObject.values()) files.push({ path, local: local[path]!, remote: null });
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Returns the name of a file's object, or its path if it has none. */
function objectOf(path: string): string {
  const object = parseFilePath(path);
  return object ? `${object.kind}/${object.key}` : path;
}
