import { expect, it } from 'vitest';
import { jsonReport, junitReport, tapReport } from '../../../../client/cli/journeys/reports.ts';

const clear = '\u001b[2J\u009b31m';
const result = {
  file: 'a.journey.yaml',
  name: `pays ${clear}\\ #1`,
  workflow: 'onboarding',
  ms: 1,
  failures: [`mails: ${clear}\n  expected: x`],
};

it.each([
  ['json', jsonReport],
  ['tap', tapReport],
  ['junit', junitReport],
])('the report as %s has no control characters', (_, report) => {
  expect(report([result]).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

it('a report shows control characters as escapes', () => {
  expect(JSON.parse(jsonReport([result]))).toMatchObject({
    tests: [{ name: result.name, failures: result.failures }],
  });
  const tap = tapReport([result]).split('\n');
  expect(tap).toContain(String.raw`not ok 1 - a.journey.yaml: pays \\x1b[2J\\x9b31m\\ \#1`);
  expect(tap).toContain(String.raw`      mails: \x1b[2J\x9b31m`);
  expect(tap).toContain('        expected: x');
});
