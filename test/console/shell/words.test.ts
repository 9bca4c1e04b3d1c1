import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { textOfReason } from '../../../console/src/words/reasons.ts';
import { absences } from '../../../domain/campaign/campaign.ts';
import { reasonCodes } from '../../../domain/outcomes/outcome.ts';

/** The sentences by which the console explains codes of the API. */

const codes = [...new Set([...Object.values(reasonCodes).flat(), ...absences])];

describe('the reasons why a mail did not come', () => {
  it('have one sentence for each code, and no sentence twice', () => {
    const sentences = codes.map(textOfReason);
    expect(sentences.filter((text) => !/^[A-Z].*[^.]\.$/.test(text))).toEqual([]);
    expect(new Set(sentences).size).toBe(codes.length);
  });

  it('are explained by the guide in the words of the console', async () => {
    const file = join(import.meta.dirname, '../../../docs/guides/no-mail.md');
    const guide = (await readFile(file, 'utf8')).replaceAll(/ +/g, ' ');
    for (const code of codes) expect(guide).toContain(`| \`${code}\` | ${textOfReason(code)} |`);
  });
});
