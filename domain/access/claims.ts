import { limits } from '../limits.ts';
import { hasForbiddenText } from '../text-rules.ts';

/** A claim of an identity provider about a user, in the form that sign-in rules use. */
export interface ClaimText {
  claim: string;
  value: string;
}

/**
 * Returns the claims that rules can name. A top-level claim whose value is a list gives one claim
 * for each text in the list; values that are not texts are left out.
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
