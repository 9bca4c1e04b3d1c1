import { createTwoFilesPatch } from 'diff';
import { command } from '../frame/command.ts';
import { type ExitCode, exitCodes } from '../frame/failure.ts';
import { bold, cyan, green, red, type Text } from '../frame/text.ts';
import { type ComparedFile, compareFolder } from './comparison.ts';

/** Shows how the files differ from the project. */
export const diff = command({
  name: 'diff',
  operands: [],
  summary: 'Show how the files differ from the project, as a unified diff',
  description:
    'Lines with "-" are in the project, lines with "+" in the files. Only differences in meaning are shown, not comments or order.',
  options: { 'exit-code': { type: 'boolean', summary: 'Exit with 3 if there are differences' } },
  example: 'everpost diff --profile production',
  async run(call): Promise<ExitCode> {
    const files = await compareFolder(call);
    const differing = files.filter(({ local, remote }) => local !== remote);
    const changes = differing.map((file) => ({ path: file.path, action: actionOf(file) }));
    call.output.result(changes, () => differing.flatMap(patchLines));
    return call.options['exit-code'] && differing.length > 0 ? exitCodes.differs : exitCodes.done;
  },
});

/** Returns what the project lacks, has in another form, or has in addition. */
function actionOf({ local, remote }: ComparedFile): 'create' | 'update' | 'delete' {
  if (remote === null) return 'create';
  return local === null ? 'delete' : 'update';
}

function patchLines({ path, local, remote }: ComparedFile): Text[] {
  const before = remote === null ? '/dev/null' : `project/${path}`;
  const after = local === null ? '/dev/null' : `files/${path}`;
  const patch = createTwoFilesPatch(before, after, remote ?? '', local ?? '');
  return patch
    .split('\n')
    .slice(1, -1)
    .map((line) => {
      if (/^(?:---|\+\+\+) /.test(line)) return bold(line);
      if (line.startsWith('@@')) return cyan(line);
      if (line.startsWith('+')) return green(line);
      return line.startsWith('-') ? red(line) : line;
    });
}
