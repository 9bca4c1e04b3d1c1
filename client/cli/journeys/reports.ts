import { escapeControls, jsonText } from '../frame/text.ts';

/** The results of tests, and their reports for programs. */

export interface TestResult {
  file: string;
  name: string;
  /** Key of the workflow; empty if the file does not say it. */
  workflow: string;
  ms: number;
  /** Empty: the test has passed. */
  failures: readonly string[];
}

const isOk = ({ failures }: TestResult) => failures.length === 0;

export function countOf(results: readonly TestResult[]) {
  const passed = results.filter(isOk).length;
  return { passed, failed: results.length - passed };
}

export function byFile(results: readonly TestResult[]): Map<string, TestResult[]> {
  const files = new Map<string, TestResult[]>();
  for (const result of results) files.set(result.file, [...(files.get(result.file) ?? []), result]);
  return files;
}

export function jsonReport(results: readonly TestResult[]): string {
  const tests = results.map(({ file, name, ms, failures }) => ({
    file,
    name,
    ok: failures.length === 0,
    ms,
    failures,
  }));
  return `${jsonText({ ...countOf(results), tests })}\n`;
}

/** TAP version 14. */
export function tapReport(results: readonly TestResult[]): string {
  const lines = ['TAP version 14', `1..${results.length}`];
  for (const [index, result] of results.entries()) {
    const { file, name, ms, failures } = result;
    const ok = isOk(result) ? 'ok' : 'not ok';
    lines.push(`${ok} ${index + 1} - ${tapText(`${file}: ${name}`)}`);
    const facts = [`duration_ms: ${ms}`];
    const texts = failures.flatMap((failure) => [
      '  - |-',
      ...escapeControls(failure)
        .split('\n')
        .map((line) => `    ${line}`),
    ]);
    if (texts.length > 0) facts.push('failures:', ...texts);
    lines.push(...['---', ...facts, '...'].map((line) => `  ${line}`));
  }
  return `${lines.join('\n')}\n`;
}

/** A description: in one line, with \ and # escaped, because # begins a directive. */
function tapText(text: string): string {
  const shown = escapeControls(text.replaceAll(/\s+/g, ' '));
  return shown.replaceAll(/[\\#]/g, (character) => `\\${character}`);
}

export function junitReport(results: readonly TestResult[]): string {
  const suites = [...byFile(results)].map(([file, tests]) => {
    const cases = tests.map(({ name, workflow, ms, failures }) => {
      const values = { name, classname: workflow, time: seconds(ms) };
      if (failures.length === 0) return `    <testcase${attributes(values)}/>`;
      const message = attributes({ message: failures[0]!.split('\n')[0]! });
      const text = xmlText(failures.join('\n\n'));
      return `    <testcase${attributes(values)}>\n      <failure${message}>${text}</failure>\n    </testcase>`;
    });
    return [`  <testsuite${attributes(suiteFacts(file, tests))}>`, ...cases, '  </testsuite>'];
  });
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${attributes(suiteFacts('everpost test', results))}>`,
    ...suites.flat(),
    '</testsuites>',
  ];
  return `${lines.join('\n')}\n`;
}

function suiteFacts(name: string, results: readonly TestResult[]): Record<string, string> {
  const { failed } = countOf(results);
  const ms = results.reduce((sum, result) => sum + result.ms, 0);
  return {
    name,
    tests: String(results.length),
    failures: String(failed),
    errors: '0',
    skipped: '0',
    time: seconds(ms),
  };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => ` ${name}="${xmlText(value)}"`)
    .join('');
}

const xmlEscapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Escapes a text for XML 1.0, which cannot contain most control characters. */
function xmlText(text: string): string {
  const valid = text.replaceAll(
    /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu,
    '\ufffd',
  );
  return escapeControls(valid).replaceAll(/[&<>"]/g, (character) => xmlEscapes[character]!);
}
