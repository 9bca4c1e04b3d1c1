import { JourneyOutline, JourneyTest } from '../reading/journey-input.ts';
import { readDocument, type TextPosition } from '../reading/document.ts';
import { readRequest } from '../../http/validation.ts';
import type { z } from 'zod';

/** Reads files with journey tests. */

/** The start of a test: the fields of its file, replaced by those of the test. */
export type Start = Pick<
  JourneyTest,
  'contact' | 'context' | 'key' | 'arms' | 'startAt' | 'webhooks' | 'events'
>;

export interface JourneyCase {
  file: string;
  name: string;
  /** Key of the workflow; null: the file does not say it. */
  workflow: string | null;
  /** The test, or the mistakes that make it unreadable. */
  test: { start: Start; expect: JourneyTest['expect'] } | { problems: string[] };
}

/**
 * Reads a file of tests. A test with a mistake becomes a case with problems, and the others of the
 * file stay. A file that cannot be read becomes one such case.
 */
export function readCases(file: string, text: string): JourneyCase[] {
  const document = readDocument(text, file.endsWith('.json') ? 'json' : 'yaml');
  const line = (position: TextPosition | null, message: string) =>
    position ? `${file}:${position.line}:${position.column} ${message}` : `${file} ${message}`;
  const unread = (problems: string[]): JourneyCase[] => [
    { file, name: file, workflow: null, test: { problems } },
  ];
  if (document.mistakes.length > 0) {
    return unread(document.mistakes.map(({ position, message }) => line(position, message)));
  }
  const whole = read(JourneyOutline, document.value);
  if (!whole.value) {
    const problems = whole.errors.map(({ field, message }) =>
      line(document.placeOf(field), field === '' ? message : `${field}: ${message}`),
    );
    return unread(problems);
  }
  const { workflow, tests, ...shared } = whole.value;
  return tests.map((given, index): JourneyCase => {
    const { value, errors } = read(JourneyTest, given);
    const { name = `test ${index + 1}` } = Object(given) as { name?: unknown };
    const named = { file, name: String(name), workflow };
    if (value) return { ...named, test: { start: startOf(shared, value), expect: value.expect } };
    const problems = errors.map(({ field, message }) => {
      const place = ['tests', index, ...(field === '' ? [] : [field])].join('.');
      return line(document.placeOf(place), `${place}: ${message}`);
    });
    return { ...named, test: { problems } };
  });
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown) {
  const { parts, errors } = readRequest(
    { body: schema },
    { params: undefined, query: undefined, body: value },
  );
  const isRead = errors.length === 0;
  return { value: isRead ? (parts.body as z.output<Schema>) : null, errors };
}

/** Joins the fields of a file and of a test: the test's win, and contact data are merged by key. */
function startOf(file: Start, { name: _name, expect: _expect, ...test }: JourneyTest): Start {
  const given = Object.entries(test).filter(([, value]) => value !== undefined);
  const data = { ...file.contact?.data, ...test.contact?.data };
  return {
    ...file,
    ...Object.fromEntries(given),
    contact: { ...file.contact, ...test.contact, data },
  };
}
