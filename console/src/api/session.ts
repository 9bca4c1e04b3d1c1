import { accountApi, EverpostError } from './api.ts';

/** Path of the console. */
export const base = import.meta.env.BASE_URL.replace(/\/$/, '');

/** Opens the log-in page, which leads back to the present page. */
export function leaveForLogIn(): void {
  const path = location.pathname.slice(base.length);
  if (path.startsWith('/auth/')) return;
  const next = encodeURIComponent(path + location.search);
  location.assign(`${base}/auth/login?next=${next}`);
}

/** Returns a page of the console from the address of the log-in page, by default the first page. */
export function nextPage(next: unknown): string {
  const isPage = typeof next === 'string' && /^\/(?![/\\])/.test(next);
  return isPage && !next.startsWith('/auth/') ? next : '/';
}

/** Returns the user of the session; null: there is none. */
export async function findUser() {
  try {
    return await accountApi.get('/users/@me');
  } catch (error) {
    if (error instanceof EverpostError && error.status === 401) return null;
    throw error;
  }
}
