import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Problem } from '../../domain/errors.ts';
import { cookieName, setCookie } from '../access/session.ts';
import type { Visitor } from '../http/endpoint.ts';

const cookieSeconds = 7 * 24 * 60 * 60;

/**
 * The token of the forms on a page. It is derived from a secret in a cookie of the browser, and
 * from the session (a signed double submit cookie, OWASP "Cross-Site Request Forgery Prevention").
 * Other sites cannot create a token, and the token of another session is invalid.
 */
export class FormToken {
  readonly text: string;
  /** The `Set-Cookie` value for a browser without a secret; null: the browser has one. */
  readonly newCookie: string | null;

  constructor({ config, cookie }: Pick<Visitor, 'config' | 'cookie'>) {
    const { apiUrl, jwtSecret } = config;
    const name = cookieName('everpost_console', apiUrl);
    const known = cookie(name);
    const secret = known ?? randomBytes(16).toString('hex');
    this.newCookie = known ? null : setCookie(name, secret, cookieSeconds, apiUrl);
    const session = cookie(cookieName('everpost_session', apiUrl)) ?? '';
    this.text = createHmac('sha256', jwtSecret)
      .update(`console ${secret} ${session}`)
      .digest('base64url');
  }

  /** @throws Problem ORIGIN_NOT_ALLOWED if the form does not have this token. */
  check(form: URLSearchParams): void {
    const given = Buffer.from(form.get('token') ?? '');
    const own = Buffer.from(this.text);
    const isRight = this.newCookie === null && given.length === own.length;
    if (!isRight || !timingSafeEqual(given, own))
      throw new Problem('ORIGIN_NOT_ALLOWED', { message: notOurs });
  }
}

export function readForm({ request }: { request: { bytes: Buffer } }): URLSearchParams {
  return new URLSearchParams(request.bytes.toString('utf8'));
}

/**
 * Reads the form of a request.
 * @throws Problem ORIGIN_NOT_ALLOWED if it does not come from a page of this browser session
 */
export function readOwnForm({
  config,
  request,
}: {
  config: Visitor['config'];
  request: { bytes: Buffer; cookie: Visitor['cookie'] };
}): URLSearchParams {
  const form = readForm({ request });
  new FormToken({ config, cookie: request.cookie }).check(form);
  return form;
}

const notOurs =
  'The form was opened in another browser session, or the browser sent no cookie. ' +
  'Enable cookies, and reload the page.';
