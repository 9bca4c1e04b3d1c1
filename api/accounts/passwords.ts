import { hash, verify } from '@node-rs/argon2';
import { z } from 'zod';
import { fault } from '../http/schemas.ts';
import { isCommonPassword, passwordCharsMin } from './common-passwords.ts';

const tooCommon = fault(
  'too_common',
  'Is one of the 10,000 most common passwords. Choose another one.',
);

export const NewPassword = z
  .string()
  .min(passwordCharsMin)
  .max(256)
  .refine((password) => !isCommonPassword(password), tooCommon)
  .meta({ description: 'None of the 10,000 most common passwords, in any case' });

export const GivenPassword = z.string().min(1);

/** Argon2id with the minimum settings of OWASP's Password Storage Cheat Sheet: 19 MiB, 2 passes. */
const argon2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

export function hashPassword(password: string): Promise<string> {
  return hash(password, argon2);
}

/**
 * The hash that is checked if an account has no password or does not exist, so that each check
 * takes the same time.
 */
const nobody = hashPassword('');

/** Checks a password. @param passwordHash null: there is no account, or it has no password. */
export async function verifyPassword(
  passwordHash: string | null,
  password: string,
): Promise<boolean> {
  const matches = await verify(passwordHash ?? (await nobody), password);
  return matches && passwordHash !== null;
}
