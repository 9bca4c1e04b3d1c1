import { matchesFile, parseFilePath, parseFilePattern } from '../../../domain/files/kinds.ts';
import { command, type Options } from '../frame/command.ts';
import { refused } from '../frame/failure.ts';
import { green, red, type Text, yellow } from '../frame/text.ts';
import { type ComparedFile, compareFolder } from './comparison.ts';
import { givenPatterns, pruneOption } from './plans.ts';
import { schemaPaths, writeSchemas } from './schemas.ts';
import { checkLinks, removeFile, writeText } from './writing.ts';

const options = {
  prune: {
    ...pruneOption,
    summary: 'Remove files whose object the project does not have; default: all of them',
  },
  yes: { type: 'boolean', summary: 'Overwrite and remove files without asking' },
} as const satisfies Options;

/** Writes the project into the folder. */
export const pull = command({
  name: 'pull',
  operands: [],
  summary: 'Write the project into files',
  description:
    'Files that mean the same stay as they are. In others only the values that differ are changed: comments, order and variables stay. Objects that you do not want in files are left out by `only` in everpost.yaml.',
  options,
  example: 'everpost pull --profile production',
  async run(call) {
    const { dir, output, questions } = call;
    const changes = changesOf(await compareFolder(call), prunedBy(call.options.prune));
    const touched = [...changes.written, ...changes.removed];
    await checkLinks(dir, [...schemaPaths, ...touched.map(({ path }) => path)]);
    const overwritten = touched.filter(({ local }) => local !== null);
    if (overwritten.length > 0 && !call.options.yes) {
      for (const { path, remote } of overwritten) {
        output.note([remote === null ? red('  remove  ') : yellow('  change  '), path]);
      }
      const isSure = await questions.confirm('Overwrite these files?', 'Use --yes');
      if (!isSure) throw refused('NOT_CONFIRMED', 'Nothing was written.');
    }
    await writeSchemas(dir);
    for (const { path, remote } of changes.written) await writeText(dir, path, remote!);
    for (const { path } of changes.removed) await removeFile(dir, path);
    const written = changes.written.map(({ path }) => path);
    const removed = changes.removed.map(({ path }) => path);
    output.result({ written, unchanged: changes.unchanged, removed }, () => [
      ...written.map((path): Text => [green('written  '), path]),
      ...removed.map((path): Text => [red('removed  '), path]),
      `${written.length} written, ${changes.unchanged} unchanged, ${removed.length} removed.`,
    ]);
  },
});

interface Changes {
  written: ComparedFile[];
  removed: ComparedFile[];
  unchanged: number;
}

/** Returns a function that is true for the paths of files that `--prune` may remove. */
function prunedBy(prune: string | undefined): (path: string) => boolean {
  if (prune === undefined) return () => false;
  // A file that is not of the layout, such as a README, was never pulled.
  if (prune === '') return (path) => parseFilePath(path) !== null;
  const patterns = givenPatterns(prune).flatMap((pattern) => parseFilePattern(pattern) ?? []);
  return (path) => {
    const object = parseFilePath(path);
    return object !== null && matchesFile(patterns, object);
  };
}

function changesOf(files: readonly ComparedFile[], mayRemove: (path: string) => boolean): Changes {
  return {
    written: files.filter(({ local, remote }) => remote !== null && remote !== local),
    removed: files.filter(({ path, remote }) => remote === null && mayRemove(path)),
    unchanged: files.filter(({ local, remote }) => remote !== null && remote === local).length,
  };
}
