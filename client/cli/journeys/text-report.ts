import { bold, dim, green, red, type Text } from '../frame/text.ts';
import { byFile, countOf, type TestResult } from './reports.ts';

/** The report for a terminal, as lines. */
export function textReport(results: readonly TestResult[], totalMs: number): Text[] {
  const lines: Text[] = [];
  for (const [file, tests] of byFile(results)) {
    lines.push(bold(file));
    for (const { name, failures } of tests) {
      lines.push(['  ', failures.length === 0 ? green('✓') : red('✗'), ` ${name}`]);
      for (const failure of failures) {
        lines.push(...failure.split('\n').map((line) => `      ${line}`));
      }
    }
  }
  const { passed, failed } = countOf(results);
  const counts = [
    ...(failed > 0 ? [red(`${failed} failed`), ', '] : []),
    passed > 0 ? green(`${passed} passed`) : '0 passed',
  ];
  return [...lines, '', [...counts, dim(` in ${(totalMs / 1000).toFixed(1)} s`)]];
}
