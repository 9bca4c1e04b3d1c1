import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FilesProject } from '../../../api/files/journeys/project.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { simulatedStepsMax, TooManySteps } from '../../../domain/simulation/simulation.ts';
import { command } from '../frame/command.ts';
import { exitCodes, Failure, unreadable } from '../frame/failure.ts';
import { profileName, variablesOf } from '../frame/profiles.ts';
import { dim, green, red, type Text } from '../frame/text.ts';
import { readFolder } from '../folder/local-files.ts';
import { pathText } from '../journeys/judge.ts';
import { playHappenings, UnplayableStart } from '../journeys/play.ts';
import { journeyOf } from '../replay/as-test.ts';
import { drawnAsRecorded, happeningsOf } from '../replay/happenings.ts';
import { fetchExecution, type RecordedExecution } from '../replay/recorded.ts';
import {
  type Difference,
  differenceOf,
  endText,
  type Way,
  wayOfPlayed,
  wayOfRecorded,
} from '../replay/ways.ts';

export const replay = command({
  name: 'replay',
  operands: [{ name: 'workflow key', offers: 'workflows' }, { name: 'executionId' }],
  summary: "Play a past execution on the workflow's file, and show where the ways part",
  description:
    'Reads the execution, its contact as it is now, its events and the responses of receivers. Then it plays ' +
    'them on the files, without the server.',
  options: {
    'exit-code': { type: 'boolean', summary: 'Exit with 3 if the ways part' },
    save: {
      type: 'string',
      value: 'FILE',
      summary:
        'Write it as a journey test, with a made-up address and the data that conditions read',
    },
  },
  example:
    'everpost replay onboarding dd000000-0000-4000-8000-000000000001 --save late.journey.yaml',
  async run(call) {
    const { options, operands, dir, cwd, env, output } = call;
    const [key, executionId] = operands as [string, string];
    const settings = await call.settings();
    const variables = variablesOf(profileName(options.profile, env), settings);
    const project = new FilesProject(readFiles(await readFolder(dir), variables));
    const workflow = project.workflow(key);
    if ('problems' in workflow) throw cannotPlay(workflow.problems);
    const fetched = await fetchExecution(await call.api(), key, executionId);
    const execution = withKnownTopics(fetched, project);
    const happenings = happeningsOf(execution, new Date());
    const drawn = drawnAsRecorded(workflow, execution);
    const recorded = wayOfRecorded(execution);
    const played = await tryToPlay(() =>
      playHappenings(project, drawn, happenings, settings.project),
    );
    const replayed = wayOfPlayed(played);
    const difference = differenceOf(recorded, replayed);
    const { id, version } = execution;
    output.result({ execution: { id, version }, recorded, replayed, difference }, () =>
      lines(recorded, replayed, difference),
    );
    if (options.save !== undefined) {
      const file = resolve(cwd, options.save);
      await save(file, journeyOf(execution, recorded, { key, workflow, project }));
      output.note(`${options.save} written.`);
    }
    return options['exit-code'] && difference ? exitCodes.differs : exitCodes.done;
  },
});

/** Leaves out the choices about topics that have no file: no mail of the files has them. */
function withKnownTopics(execution: RecordedExecution, project: FilesProject): RecordedExecution {
  const { contact } = execution;
  const topics = Object.entries(contact.topics).filter(([key]) => project.hasTopic(key));
  return { ...execution, contact: { ...contact, topics: Object.fromEntries(topics) } };
}

function cannotPlay(problems: readonly string[]): Failure {
  const errors = problems.map((message) => ({ field: 'files', message }));
  const text = 'The workflow cannot be played.';
  return new Failure('WORKFLOW_INVALID', exitCodes.wrongCall, text, { errors });
}

async function tryToPlay<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UnplayableStart) throw cannotPlay([error.message]);
    if (!(error instanceof TooManySteps)) throw error;
    throw cannotPlay([`The execution would have more than ${simulatedStepsMax} steps.`]);
  }
}

function lines(recorded: Way, replayed: Way, difference: Difference | null): Text[] {
  const way = ({ path }: Way) => pathText(path);
  return [
    [dim('then: '), way(recorded), ` ${endText(recorded)}`],
    [dim('now:  '), way(replayed), ` ${endText(replayed)}`],
    difference === null
      ? green('The ways are the same.')
      : red(
          `They part at step ${difference.step}: ${difference.recorded} then, ${difference.replayed} now.`,
        ),
  ];
}

async function save(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
    throw unreadable(`${file} ${exists ? 'exists already.' : 'cannot be written.'}`, {
      cause: error,
    });
  }
}
