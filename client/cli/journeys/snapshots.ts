import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
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

/** Returns the names of the folders of a file's tests, made from the names of the tests. */
export function snapshotFolders(names: readonly string[]): string[] {
  const taken = new Map<string, number>();
  return names.map((name) => {
    const folder = plainName(name).slice(0, folderChars) || 'test';
    const number = (taken.get(folder) ?? 0) + 1;
    taken.set(folder, number);
    return number === 1 ? folder : `${folder}-${number}`;
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
  const stored = await readFolder(folder);
  if (mode === 'update' || (mode === 'create' && stored === null)) {
    await writeFolder(folder, files);
    return [];
  }
  if (stored === null) {
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

/** Returns the files of a folder; null: there is no folder. */
async function readFolder(folder: string): Promise<Map<string, string> | null> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const files = await Promise.all(
    names
      .filter((name) => name.endsWith('.html'))
      .map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const),
  );
  return new Map(files);
}

async function writeFolder(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, text] of files) await writeFile(join(folder, name), text);
}
