import { createHmac } from 'node:crypto';
import { Problem } from '../../../domain/errors.ts';
import { isSame } from '../../web/secret-text.ts';
import type { WebhookRequest } from './adapter.ts';

/** Checks that a request comes from the mail service. */

/**
 * Refuses a request without the secret as password of HTTP Basic. The user name does not matter.
 */
export function requirePassword(request: WebhookRequest, secret: string): void {
  const { scheme, value } = authorizationOf(request);
  requireTrue(scheme === 'basic' && isSame(passwordIn(value), secret));
}

/** Refuses a request without the secret as bearer token or as password of HTTP Basic. */
export function requireTokenOrPassword(request: WebhookRequest, secret: string): void {
  const { scheme, value } = authorizationOf(request);
  const given = scheme === 'basic' ? passwordIn(value) : value;
  requireTrue((scheme === 'basic' || scheme === 'bearer') && isSame(given, secret));
}

function authorizationOf(request: WebhookRequest): { scheme: string; value: string } {
  const [, scheme = '', value = ''] =
    /^(\S+) +(\S.*)$/.exec(requiredHeader(request, 'Authorization')) ?? [];
  return { scheme: scheme.toLowerCase(), value };
}

function passwordIn(basic: string): string {
  const text = Buffer.from(basic, 'base64').toString('utf8');
  return text.slice(text.indexOf(':') + 1);
}

/**
 * Returns a header that the request must have.
 * @throws Problem MISSING_SIGNATURE
 */
export function requiredHeader({ header }: WebhookRequest, name: string): string {
  const value = header(name).trim();
  if (value === '') throw missingSignature(`The header ${name} is missing.`);
  return value;
}

export function missingSignature(message: string): Problem {
  return new Problem('MISSING_SIGNATURE', {
    message,
    suggestion:
      'The mail service must sign its requests, or log in, with the feedbackSecret of the ' +
      'provider. Check its webhook settings, and that no proxy removes headers.',
  });
}

/**
 * Refuses a request whose signature is too old, or too far in the future.
 * @param seconds when the request was signed, in Unix time
 */
export function requireRecent(seconds: string, now: Date, toleranceMinutes: number): void {
  const ageMs = Math.abs(now.getTime() - Number(seconds) * 1000);
  requireTrue(ageMs <= toleranceMinutes * 60_000);
}

/**
 * Refuses a request that has failed a check.
 * @throws Problem INVALID_SIGNATURE
 */
export function requireTrue(isAuthentic: boolean): void {
  if (isAuthentic) return;
  throw new Problem('INVALID_SIGNATURE', {
    message: 'The request does not match the feedbackSecret of this provider, or it is too old.',
    suggestion:
      'Compare the feedbackSecret of the provider with the one at the mail service. Check that no proxy changes the body, and that the clock of this server is right.',
  });
}

/** Returns the HMAC-SHA256 of data. */
export function hmac(key: string | Buffer, ...data: (string | Buffer)[]): Buffer {
  const hash = createHmac('sha256', key);
  for (const part of data) hash.update(part);
  return hash.digest();
}
