import { limits } from '../limits.ts';
import { hasForbiddenText } from '../text-rules.ts';

/** A claim of a user of an identity provider, as a rule can name it. */
export interface ClaimText {
  claim: string;
  value: string;
}

/**
 * Returns the claims that rules can name: each text of a top-level claim, or of its list. Claims
 * that are no text are left out.
 */
export function readClaimTexts(claims: Readonly<Record<string, unknown>>): ClaimText[] {
  return Object.entries(claims).flatMap(([claim, given]) => {
    if (!isNameable(claim, limits.claimChars)) return [];
    const values: unknown[] = Array.isArray(given) ? given : [given];
    const texts = new Set(values.filter((value) => typeof value === 'string'));
    return [...texts]
      .filter((value) => isNameable(value, limits.claimValueChars))
      .map((value) => ({ claim, value }));
  });
}

function isNameable(text: string, charsMax: number): boolean {
  return text.length >= 1 && text.length <= charsMax && !hasForbiddenText(text);
}
