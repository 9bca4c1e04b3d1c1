import type { Visitor } from '../http/endpoint.ts';
import { cookieName, setCookie } from '../access/session.ts';

/**
 * The page to open after a login. Forms have it in a field. For logins through another site it is
 * in a cookie, which the first page of the console reads.
 */

const firstPage = '/console';
/** The maximum duration of a login at another site, in seconds. */
const cookieSeconds = 10 * 60;
const charsMax = 1_000;

/** Returns a path of the console unchanged, and the console's first page for any other path. */
export function consolePath(asked: string): string {
  const isPage = /^\/console(?:\/[\w-]+)*(?:\?[\w=&%.+-]*)?$/.test(asked);
  return isPage && asked.length <= charsMax ? asked : firstPage;
}

/** Returns the `Set-Cookie` values that remember the page, if it is not the first one. */
export function keepNext({ config: { apiUrl } }: Pick<Visitor, 'config'>, page: string): string[] {
  if (consolePath(page) === firstPage) return [];
  const value = Buffer.from(page).toString('base64url');
  return [setCookie(nameOf(apiUrl), value, cookieSeconds, apiUrl)];
}

/** Returns the page that the browser's cookie remembers; by default the first page. */
export function readNext({ config, cookie }: Pick<Visitor, 'config' | 'cookie'>): string {
  const value = cookie(nameOf(config.apiUrl)) ?? '';
  return consolePath(Buffer.from(value, 'base64url').toString('utf8'));
}

/** Returns the `Set-Cookie` value that deletes the cookie with the page. */
export function forgetNext({ apiUrl }: Visitor['config']): string {
  return setCookie(nameOf(apiUrl), '', 0, apiUrl);
}

function nameOf(apiUrl: string): string {
  return cookieName('everpost_next', apiUrl);
}
