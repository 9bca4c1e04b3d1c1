import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { faultOf, regexesOf } from './support/regexes.ts';

/**
 * No regular expression of the product takes more than linear time: otherwise a text could block
 * the process. If the analysis cannot prove this, a comment `Safe regex: …` gives the reason.
 */

const root = path.join(import.meta.dirname, '..');
const rooms = ['api', 'activities', 'db', 'domain', 'providers', 'workflows', 'worker'];

function filesOfProduct(): string[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', ...rooms, 'config.ts'],
    { cwd: root, encoding: 'utf8' },
  );
  return listed.split('\n').filter((file) => file.endsWith('.ts'));
}

async function faultsIn(file: string, source: string): Promise<string[]> {
  const faults: string[] = [];
  for (const regex of regexesOf(file, source)) {
    const fault = await faultOf(regex);
    const shown = regex.pattern === null ? 'an expression' : `/${regex.pattern}/${regex.flags}`;
    if (fault !== null) faults.push(`${file}:${regex.line}: ${shown} ${fault}`);
  }
  return faults;
}

describe('the regular expressions', () => {
  it('take time in proportion to the text', { timeout: 120_000 }, async () => {
    const files = filesOfProduct();
    const sources = files.map((file) => readFileSync(path.join(root, file), 'utf8'));
    expect(files.flatMap((file, at) => regexesOf(file, sources[at]!)).length).toBeGreaterThan(100);
    const faults: string[] = [];
    for (const [at, file] of files.entries()) faults.push(...(await faultsIn(file, sources[at]!)));
    expect(faults).toEqual([]);
  });

  it.each([
    ['blanks at the end', String.raw`text.replace(/^[\0- ]+|[\0- ]+$/g, '')`],
    ['links that are never closed', String.raw`html.match(/<a\b[^]*?<\/a/gi)`],
    ['a form field', String.raw`const one = /(?:^|[&"\s])list(?:=|"[^\r\n]*\r?\n\r?\n)click/i;`],
    ['repetition in repetition', 'const all = /^(a+)+$/;'],
    ['what is made', 'const made = new RegExp(`^${name}$`);'],
    ['what is made without new', "const made = RegExp(name, 'g');"],
  ])('are found where they do not: %s', async (_, source) => {
    expect(await faultsIn('it.ts', source)).toHaveLength(1);
  });

  it('may be made of what is known to be safe, with a reason', async () => {
    const made = 'const made = new RegExp(`^${uuid}$`);';
    expect(await faultsIn('it.ts', `// Safe regex: a uuid has no operators.\n${made}`)).toEqual([]);
    expect(await faultsIn('it.ts', `// Safe regex:\n${made}`)).toHaveLength(1);
    expect(await faultsIn('it.ts', `// Safe regex: two lines above.\n\n${made}`)).toHaveLength(1);
  });

  it('are read by a parser: a division or a text is none', () => {
    const source =
      'const a = b / c / d; const t = "/x+$/"; const r = /x+$/u.test(`/${/y/.source}/`);';
    expect(regexesOf('it.ts', source).map(({ pattern }) => pattern)).toEqual(['x+$', 'y']);
  });
});
