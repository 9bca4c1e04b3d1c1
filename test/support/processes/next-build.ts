import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { useFolder } from '../use.ts';
import { root } from './npm-start.ts';

/** The schema change of the next build: columns that this build does not know, and a table. */
const addition = [
  ...['contact', 'email', 'campaign', 'execution', 'event'].map(
    (table) => `alter table ${table} add column next_build text;`,
  ),
  'create table next_build (project_id uuid primary key);',
].join('\n');

/** A step type that only the next build has: its file, and its line in the registry. */
const noteStep = `import { z } from 'zod';
import type { StepModule } from './step.ts';

const NoteConfig = z.object({ text: z.string() });

export const note: StepModule<z.output<typeof NoteConfig>> = {
  config: NoteConfig,
  ways: 'one',
  play: async ({ config: { text } }) => ({ kind: 'done', output: { note: text } }),
  label: 'NOTE',
  examples: [{ name: 'Welcomed', config: { text: 'Has been welcomed' } }],
};
`;

async function addStepType(folder: string): Promise<void> {
  const steps = join(folder, 'domain/workflow/steps');
  await writeFile(join(steps, 'note.ts'), noteStep);
  const registry = await readFile(join(steps, 'registry.ts'), 'utf8');
  const extended = registry.replace('  EXIT: exit,\n', '  EXIT: exit,\n  NOTE: note,\n');
  if (extended === registry) throw new Error('The registry of steps has no place for one more.');
  await writeFile(join(steps, 'registry.ts'), `import { note } from './note.ts';\n${extended}`);
}

/**
 * Creates the sources of a next build in their own folder, with one more schema file and one more
 * step type. Packages are shared.
 */
export async function useNextBuild(): Promise<string> {
  const folder = join(await useFolder(), 'sources');
  const { stdout } = await promisify(execFile)(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ':!test', ':!bench'],
    { cwd: root, maxBuffer: 16 * 1024 * 1024 },
  );
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(root, file), join(folder, file));
  }
  const migrations = join(folder, 'db/migrations');
  const count = (await readdir(migrations)).length;
  const number = String(count + 1).padStart(4, '0');
  await writeFile(join(migrations, `${number}-next-build.sql`), addition);
  await addStepType(folder);
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
