import type { Stats } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { templateText } from '../../../domain/files/write.ts';
import type { SimulatedMail } from '../../../domain/simulation/simulation.ts';
import { failure, textParting } from './parting.ts';

/**
 * Snapshots of mail: for each test a folder in `<test file>.snapshots/`, with a file for each mail
 * that is sent or held. A file has the subject as front matter, then the body, as a template has.
 */

/** `update`: write all. `create`: write those of a test that has none. `compare`: write none. */
export type SnapshotMode = 'update' | 'create' | 'compare';

const folderChars = 80;

/** The names of snapshots. Other files in their folder are left alone. */
const isSnapshot = (name: string) => /^\d+-.*\.html$/.test(name);

/** Returns the names of the folders of a file's tests, made from the names of the tests. */
export function snapshotFolders(names: readonly string[]): string[] {
  const numbers = new Map<string, number>();
  const taken = new Set<string>();
  return names.map((name) => {
    const plain = plainName(name).slice(0, folderChars) || 'test';
    let number = (numbers.get(plain) ?? 0) + 1;
    const folder = () => (number === 1 ? plain : `${plain}-${number}`);
    // Another test may have the name that ends in this number.
    while (taken.has(folder())) number += 1;
    numbers.set(plain, number);
    taken.add(folder());
    return folder();
  });
}

/** Returns a name with a hyphen for every run of other characters than letters and digits. */
function plainName(name: string): string {
  const plain = name.normalize('NFC').toLowerCase();
  return plain.replaceAll(/[^\p{L}\p{N}]+/gu, '-').replaceAll(/^-|-$/g, '');
}

/**
 * Compares the mail of a test with its snapshot, or writes it. Returns the failures.
 * @param name the folder as failures name it
 */
export async function checkSnapshot(
  { folder, name: shownFolder }: { folder: string; name: string },
  emails: readonly SimulatedMail[],
  mode: SnapshotMode,
): Promise<string[]> {
  const files = new Map(
    emails
      .filter(({ outcome }) => outcome !== 'withheld')
      .map(({ stepId, subject, body }, index) => [
        `${index + 1}-${plainName(stepId)}.html`,
        templateText({ subject }, body),
      ]),
  );
  // The folder may come from a stranger. Through a link, it would read and replace other files.
  const obstacle = await findObstacle(folder);
  if (obstacle !== null) return [`snapshot: ${obstacle} Nothing was read or written.`];
  const stored = await readFolder(folder);
  if (mode === 'update' || (mode === 'create' && stored.size === 0)) {
    await writeFolder(folder, stored, files);
    return [];
  }
  if (stored.size === 0 && files.size > 0) {
    return [`snapshot: ${shownFolder} is missing. Run \`everpost test --update\`, and commit it.`];
  }
  const hint = 'If this is right, run everpost test --update.';
  const names = new Set([...stored.keys(), ...files.keys()]);
  const failures = [...names].toSorted().flatMap((name) => {
    const [expected, actual] = [stored.get(name), files.get(name)];
    if (expected === actual) return [];
    const file = `${shownFolder}/${name}`;
    if (expected === undefined) return [`snapshot: ${file} is missing, but the mail is sent.`];
    if (actual === undefined) return [`snapshot: ${file} is of a mail that is not sent.`];
    return [differingLines(`snapshot ${file}`, expected, actual)];
  });
  return failures.length === 0 ? [] : [...failures, hint];
}

/** Returns a failure with the first line that differs. */
function differingLines(what: string, expected: string, actual: string): string {
  const [before, after] = [expected.split('\n'), actual.split('\n')];
  const at = Math.max(before.length, after.length);
  const differs = Array.from({ length: at }, (_, line) => line).find(
    (line) => before[line] !== after[line],
  );
  const lineOf = (lines: readonly string[]) => lines[differs ?? 0] ?? 'the end';
  const part = textParting(expected, actual);
  return failure(what, { expected: lineOf(before), actual: lineOf(after), part });
}

/** Returns a sentence about a link, or a file in the place of a folder; null: there is none. */
async function findObstacle(folder: string): Promise<string | null> {
  const shownPath = (path: string) => relative(dirname(dirname(folder)), path);
  for (const path of [dirname(folder), folder]) {
    const known = await lstatOf(path);
    if (known && !known.isDirectory())
      return `${shownPath(path)} must be a folder, not a link or a file.`;
  }
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    const known = await lstatOf(path);
    if (known && !known.isFile())
      return `${shownPath(path)} must be a file, not a link or a folder.`;
  }
  return null;
}

async function lstatOf(path: string): Promise<Stats | null> {
  return lstat(path).catch(nullIfMissing);
}

/** Returns the names of the snapshots in a folder; none if there is no folder. */
async function namesIn(folder: string): Promise<string[]> {
  return ((await readdir(folder).catch(nullIfMissing)) ?? []).filter(isSnapshot);
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

async function readFolder(folder: string): Promise<Map<string, string>> {
  const files = (await namesIn(folder)).map(
    async (name) => [name, await readFile(join(folder, name), 'utf8')] as const,
  );
  return new Map(await Promise.all(files));
}

/** Replaces the snapshots in a folder. Without any, an empty folder goes, too. */
async function writeFolder(
  folder: string,
  stored: ReadonlyMap<string, string>,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  for (const name of stored.keys()) await rm(join(folder, name), { force: true });
  if (files.size > 0) await mkdir(folder, { recursive: true });
  else if (stored.size > 0) await rmdir(folder).catch(() => {});
  for (const [name, text] of files) await writeFile(join(folder, name), text, { flag: 'wx' });
}
