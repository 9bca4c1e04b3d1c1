import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';

/**
 * Temporal keeps histories for long, so they must not contain data that can be erased from the
 * database.
 */

const folder = path.join(import.meta.dirname, '../../histories');
const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.json'));

/**
 * Allowed matches: the address that the customer wrote into a step, and the SDK's name with its
 * version.
 */
const known = ['owner@people.test', /^worker@\d+\.\d+\.\d+$/];

/** Returns all texts of a history: inputs, results, memos and search attributes are encoded. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value, Buffer.from(value, 'base64').toString('utf8')];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}

it.each(files)('the history %s holds no address', async (file) => {
  const history: unknown = JSON.parse(await readFile(path.join(folder, file), 'utf8'));
  const found = textsOf(history).flatMap((text) =>
    text.split(/[^\w.+@-]/).filter((word) => /^[\w.+-]+@[\w-]+\.[\w.-]+$/.test(word)),
  );
  const isKnown = (word: string) =>
    known.some((one) => (typeof one === 'string' ? one === word : one.test(word)));
  expect(found.filter((word) => !isKnown(word))).toEqual([]);
});
