import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { securityEventNames } from '../../../db/accounts/security-events.ts';

/** Returns the names in the table: `.changed` continues the word, or the words, before it. */
function documentedNames(): string[] {
  const page = readFileSync('docs/security.md', 'utf8');
  const [, section = ''] = page.split('## Security log\n');
  const table = section.split('\n## ')[0]?.match(/^\|.*\|$/gm) ?? [];
  return table.flatMap((row) => {
    let words: string[] = [];
    let isOpen = false;
    const tokens = (row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g);
    return [...tokens].flatMap(([, token = '']) => {
      const [word = '', rest] = token.split('.');
      // `topic.…` names a word only, for the ends that follow.
      if (word !== '') words = isOpen ? [...words, word] : [word];
      isOpen = rest === '…';
      if (isOpen) return [];
      return words.map((one) => (rest === undefined ? one : `${one}.${rest}`));
    });
  });
}

it('the page about security lists every event of the security log, and no other', () => {
  const documented = new Set(documentedNames());
  documented.delete('event');
  // Refusals of access are lines of the log only.
  expect(documented.delete('access.refused')).toBe(true);
  expect([...documented].toSorted()).toEqual(securityEventNames.toSorted());
});
