import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type JourneyCase, readCases } from '../../../api/files/journeys/cases.ts';
import { FilesProject } from '../../../api/files/journeys/project.ts';
import { problemAt, unreadObject } from '../../../api/files/reading/objects.ts';
import { readFiles } from '../../../api/files/reading/read.ts';
import { parseFilePath } from '../../../domain/files/kinds.ts';
import { readText, tryToReadFolder } from '../folder/local-files.ts';
import { command, type Call } from '../frame/command.ts';
import { exitCodes, Failure, unreadable, wrongCall } from '../frame/failure.ts';
import { profileName, variablesOf } from '../frame/profiles.ts';
import { render, type Text } from '../frame/text.ts';
import { fileName, findTestFiles } from '../journeys/files.ts';
import { jsonReport, junitReport, tapReport, type TestResult } from '../journeys/reports.ts';
import { runFile } from '../journeys/run-tests.ts';
import { textReport } from '../journeys/text-report.ts';

const reporters = ['text', 'tap', 'junit', 'json'] as const;

type ReporterName = (typeof reporters)[number];

export const test = command({
  name: 'test',
  operands: [{ name: 'paths', isOptional: true, isMany: true }],
  summary: 'Run the journey tests of the folder, without a server',
  description:
    'Plays the workflows of the files in memory, as POST /workflows/{id}/simulate does. Tests are in files ' +
    'named *.journey.yaml or *.journey.json anywhere in the folder.',
  options: {
    reporter: {
      type: 'string',
      multiple: true,
      value: 'NAME[=FILE]',
      offers: reporters,
      summary: `${reporters.join(', ')}; several times, each with a file; default: text on a terminal, else tap`,
    },
    grep: { type: 'string', value: 'TEXT', summary: 'Only tests whose name contains this text' },
    update: { type: 'boolean', summary: 'Write all snapshots of mail anew' },
    ci: { type: 'boolean', summary: 'A missing snapshot is a failure; default: if CI=true' },
  },
  example: 'everpost test --reporter text --reporter junit=results.xml',
  async run(call) {
    const { options, dir, cwd, operands, env } = call;
    const reports = options.reporter.map((given) => parseReporter(given, cwd));
    if (reports.filter(({ file }) => file === null).length > 1) {
      throw wrongCall(
        'Only one reporter can write to the output. Give the others a file: junit=FILE.',
      );
    }
    if (options.update && options.ci) throw wrongCall('Choose one of --update and --ci.');
    const began = performance.now();
    const paths = operands.map((path) => resolve(cwd, path));
    const files = await findTestFiles(dir, paths);
    const settings = await call.settings();
    const variables = variablesOf(profileName(options.profile, env), settings);
    const project = await readProject(dir, variables);
    const results: TestResult[] = [];
    const isCi = options.ci || env['CI'] === 'true';
    for (const path of files) {
      const cases = await casesOf(path, fileName(dir, path));
      await runFile(path, cases, {
        project,
        settings: settings.project,
        snapshots: options.update ? 'update' : isCi ? 'compare' : 'create',
        grep: options.grep,
        onResult: (result) => results.push(result),
      });
    }
    if (results.length === 0) throw wrongCall(noTestsText(options.grep));
    const lines = () => textReport(results, performance.now() - began);
    await report(call, reports, results, lines);
    return results.some(({ failures }) => failures.length > 0) ? exitCodes.refused : exitCodes.done;
  },
});

/** Reads the files of a folder. One that cannot be read fails the tests that need it. */
async function readProject(
  dir: string,
  variables: Readonly<Record<string, string>>,
): Promise<FilesProject> {
  const { files, unread } = await tryToReadFolder(dir);
  const read = readFiles(files, variables);
  const objects = [...unread.keys()].flatMap((path) => {
    const object = parseFilePath(path);
    return object ? [unreadObject({ ...object, path })] : [];
  });
  const problems = [...unread].map(([path, { message }]) =>
    problemAt({ path, placeOf: () => null }, null, 'custom', message.replace(path, 'This file')),
  );
  return new FilesProject({
    objects: [...read.objects, ...objects],
    problems: [...read.problems, ...problems],
  });
}

/** Reads the tests of a file. A file that cannot be read is one failed test. */
async function casesOf(path: string, file: string): Promise<JourneyCase[]> {
  try {
    return readCases(file, await readText(path, file));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return [{ file, name: file, workflow: null, test: { problems: [error.message] } }];
  }
}

function noTestsText(grep: string | undefined): string {
  return grep === undefined
    ? 'There are no tests. Write one into a file named *.journey.yaml.'
    : `There is no test whose name contains "${grep}".`;
}

interface Report {
  name: ReporterName;
  /** Absolute path; null: the output. */
  file: string | null;
}

function parseReporter(given: string, cwd: string): Report {
  const [, name = '', file] = /^([^=]*)(?:=(.*))?$/s.exec(given) ?? [];
  if (!isReporter(name))
    throw wrongCall(`--reporter is one of ${reporters.join(', ')}, not "${name}".`);
  if (file === '') throw wrongCall(`--reporter ${name}= needs a file.`);
  return { name, file: file === undefined ? null : resolve(cwd, file) };
}

function isReporter(name: string): name is ReporterName {
  return (reporters as readonly string[]).includes(name);
}

/** Writes the reports. Without a reporter, the output gets the default one. */
async function report(
  { options, output }: Pick<Call, 'output'> & { options: { json: boolean; text: boolean } },
  asked: readonly Report[],
  results: readonly TestResult[],
  lines: () => Text[],
): Promise<void> {
  const byDefault: ReporterName = options.json ? 'json' : output.isJson ? 'tap' : 'text';
  const isAsked = options.json || options.text || asked.length === 0;
  const hasOutput = asked.some(({ file }) => file === null) || !isAsked;
  for (const { name, file } of hasOutput ? asked : [{ name: byDefault, file: null }, ...asked]) {
    if (file === null && name === 'text') output.lines(lines());
    else if (file === null) output.raw(programReports[name as 'json'](results));
    else await writeReport(file, textOf(name, results, lines));
  }
}

const programReports = { json: jsonReport, tap: tapReport, junit: junitReport };

function textOf(
  name: ReporterName,
  results: readonly TestResult[],
  lines: () => readonly Text[],
): string {
  if (name !== 'text') return programReports[name](results);
  return lines()
    .map((line) => `${render(line, false)}\n`)
    .join('');
}

async function writeReport(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw unreadable(`${file} cannot be written.`, { cause: error });
  }
}
