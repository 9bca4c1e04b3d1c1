import { randomBytes } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';

/** Codes of an authenticator app (TOTP, RFC 6238): six digits for each half minute. */

const stepSeconds = 30;
const options = { algorithm: 'SHA1', digits: 6, period: stepSeconds };

/** Returns a new secret of 20 bytes, as base32. */
export function newTotpSecret(): string {
  return new Secret({ buffer: Uint8Array.from(randomBytes(20)).buffer }).base32;
}

/** Returns the `otpauth:` address that an authenticator app reads from a QR code. */
export function totpUri(secret: string, { issuer, label }: { issuer: string; label: string }) {
  return new TOTP({ ...options, issuer, label, secret: Secret.fromBase32(secret) }).toString();
}

/**
 * Returns the time step of a code; null: the code is wrong. The current step and its two neighbours
 * are accepted, because clocks differ, but only steps after `usedStep`.
 */
export function stepOf(
  secret: string,
  code: string,
  { now = Date.now(), usedStep = null }: { now?: number; usedStep?: number | null } = {},
): number | null {
  const totp = new TOTP({ ...options, secret: Secret.fromBase32(secret) });
  const delta = totp.validate({ token: code, timestamp: now, window: 1 });
  if (delta === null) return null;
  const step = Math.floor(now / 1000 / stepSeconds) + delta;
  return usedStep !== null && step <= usedStep ? null : step;
}
