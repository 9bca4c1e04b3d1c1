import { createHash, randomInt } from 'node:crypto';
import { replaceRecoveryCodes } from '../../../db/accounts/factors.ts';
import type { Database } from '../../../db/database.ts';

/** Recovery codes: each replaces a second factor once, for users who have lost their device. */

const codesMax = 10;
/** Characters that look alike are left out. Ten characters of this alphabet have 49 random bits. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Creates new recovery codes, which replace the previous codes. Only their hashes are stored. */
export async function renewRecoveryCodes(tx: Database, userId: string): Promise<string[]> {
  const codes = Array.from({ length: codesMax }, newCode);
  await replaceRecoveryCodes(tx, userId, codes.map(hashRecoveryCode));
  return codes;
}

function newCode(): string {
  const part = () => Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${part()}-${part()}`;
}

/** Hashes a code as a person writes it: in any case, with or without its hyphen. */
export function hashRecoveryCode(code: string): Buffer {
  const plain = code.toLowerCase().replaceAll(/[\s-]/g, '');
  return createHash('sha256').update(plain).digest();
}
