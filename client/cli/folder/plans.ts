import { parseFilePath, parseFilePattern } from '../../../domain/files/kinds.ts';
import type { Plan } from '../../everpost.ts';
import type { Call } from '../frame/command.ts';
import { wrongCall } from '../frame/failure.ts';
import { chosen } from './comparison.ts';
import { type Files, readFolder } from './local-files.ts';
import { repeated } from './repeated.ts';

/** Plans of a folder's files. */

export const pruneOption = {
  type: 'string',
  isValueOptional: true,
  value: 'PATTERNS',
  offers: 'patterns',
  summary: 'Delete objects without file; default: of `only`, else of each kind with a file',
} as const;

interface Source {
  profile: string | undefined;
  files: Files;
  prune: string | undefined;
}

/** Plans the files of the folder. */
export async function planFolder(call: Call, prune: string | undefined): Promise<Plan> {
  const { only } = await call.settings();
  const files = chosen(await readFolder(call.dir), only);
  return planFiles(call, { profile: undefined, files, prune });
}

export async function planFiles(call: Call, { profile, files, prune }: Source): Promise<Plan> {
  const { only, protect } = await call.settings();
  const { variables } = await call.project(profile);
  const everpost = await call.api(profile);
  const patterns = prune === undefined ? [] : patternsOf(prune, only, files);
  const body = { files, variables, prune: patterns, protect: [...protect] };
  return repeated(call, () => everpost.post('/plan', { body, signal: call.signal }));
}

function patternsOf(given: string, only: readonly string[], files: Files): string[] {
  if (given !== '') return givenPatterns(given);
  return only.length > 0 ? [...only] : kindsOf(files);
}

/**
 * Returns the patterns of `--prune=template/*,workflow/shop-*`.
 * @throws Failure naming a text that is no pattern
 */
export function givenPatterns(given: string): string[] {
  const patterns = given.split(',').map((pattern) => pattern.trim());
  const wrong = patterns.find((pattern) => parseFilePattern(pattern) === null);
  if (wrong === undefined) return patterns;
  throw wrongCall(`--prune takes patterns such as template/* or workflow/shop-*, not "${wrong}".`);
}

/** Returns the patterns of all objects of the kinds that have a file. */
function kindsOf(files: Files): string[] {
  const kinds = Object.keys(files).flatMap((path) => parseFilePath(path)?.kind ?? []);
  return [...new Set(kinds)].filter((kind) => !kind.endsWith('-policy')).map((kind) => `${kind}/*`);
}
