import type { JourneyCase, Start } from '../../../api/files/journeys/cases.ts';
import type { FilesProject, PlayableWorkflow } from '../../../api/files/journeys/project.ts';
import { Problem } from '../../../domain/errors.ts';
import { simulatedStepsMax, TooManySteps } from '../../../domain/simulation/simulation.ts';
import { judge } from './judge.ts';
import { play, type ProjectSettings, UnplayableStart } from './play.ts';
import type { TestResult } from './reports.ts';
import { checkSnapshot, snapshotFolders, type SnapshotMode } from './snapshots.ts';

export interface TestOptions {
  project: FilesProject;
  settings: ProjectSettings;
  snapshots: SnapshotMode;
  /** A part of the names of the tests to run; undefined: all tests. */
  grep?: string | undefined;
  /** Called after each test. */
  onResult: (result: TestResult) => void;
}

/**
 * Runs the tests of one file.
 * @param path absolute path of the file
 */
export async function runFile(
  path: string,
  cases: readonly JourneyCase[],
  { project, settings, snapshots, grep, onResult }: TestOptions,
): Promise<void> {
  const folders = snapshotFolders(cases.map(({ name }) => name));
  for (const [index, one] of cases.entries()) {
    if (grep !== undefined && !one.name.includes(grep)) continue;
    const began = performance.now();
    const [folder, folderName] = [path, one.file].map(
      (file) => `${file}.snapshots/${folders[index]}`,
    ) as [string, string];
    const snapshot = { folder, name: folderName, mode: snapshots };
    const failures = await failuresOf(one, project, settings, snapshot);
    const ms = Math.round((performance.now() - began) * 10) / 10;
    const { file, name, workflow } = one;
    onResult({ file, name, workflow: workflow ?? '', ms, failures });
  }
}

async function failuresOf(
  { workflow: key, test }: JourneyCase,
  project: FilesProject,
  settings: ProjectSettings,
  snapshot: { folder: string; name: string; mode: SnapshotMode },
): Promise<string[]> {
  if ('problems' in test) return test.problems;
  const workflow = project.workflow(key ?? '');
  if ('problems' in workflow) return workflow.problems;
  const played = await tryToPlay(project, workflow, test.start, settings);
  if ('problems' in played) return played.problems;
  const failures = judge(played, test.expect);
  if (!test.expect.snapshot) return failures;
  return [...failures, ...(await checkSnapshot(snapshot, played.emails, snapshot.mode))];
}

async function tryToPlay(
  project: FilesProject,
  workflow: PlayableWorkflow,
  start: Start,
  settings: ProjectSettings,
) {
  try {
    return await play(project, workflow, start, settings);
  } catch (error) {
    if (error instanceof UnplayableStart) return { problems: [error.message] };
    if (error instanceof TooManySteps) {
      return { problems: [`The execution has more than ${simulatedStepsMax} steps.`] };
    }
    if (!(error instanceof Problem)) throw error;
    const texts = error.errors?.map(({ field, message }) => `${field}: ${message}`);
    return { problems: texts ?? [error.message] };
  }
}
