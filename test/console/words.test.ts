import { describe, expect, it } from 'vitest';
import { textOfReason } from '../../console/src/words/reasons.ts';
import { reasonCodes } from '../../domain/outcomes/outcome.ts';

describe('the words of the console', () => {
  it('have a sentence of its own for each reason why a mail was not sent', () => {
    const codes = new Set<string>([
      ...Object.values(reasonCodes).flat(),
      'unsubscribed_at_freeze',
      'topic_unsubscribed_at_freeze',
      'not_in_audience',
      'created_after_freeze',
    ]);
    const sentences = [...codes].map(textOfReason);
    expect(new Set(sentences).size).toBe(codes.size);
    for (const sentence of sentences) expect(sentence).toMatch(/^(?!Reason:)[A-Z].*\.$/);
  });
});
