import { accountApi, EverpostError } from './api.ts';

/** Path of the console. */
export const base = import.meta.env.BASE_URL.replace(/\/$/, '');

const pagePath = () => location.pathname.slice(base.length);

/** Returns the address of the log-in page that leads back to the current page. */
export function logInAddress(): string {
  return `${base}/auth/login?next=${encodeURIComponent(pagePath() + location.search)}`;
}

/** Opens the log-in page. After the log-in, the current page is opened again. */
export function leaveForLogIn(): void {
  if (!pagePath().startsWith('/auth/')) location.assign(logInAddress());
}

/**
 * Returns the path in the log-in page's parameter `next`, if it is a page of the console; by
 * default the first page.
 */
export function nextPage(next: unknown): string {
  const isPage = typeof next === 'string' && /^\/(?![/\\])/.test(next);
  return isPage && !next.startsWith('/auth/') ? next : '/';
}

/** Returns the user of the session; null: there is no session. */
export async function findUser() {
  try {
    return await accountApi.get('/users/@me');
  } catch (error) {
    if (error instanceof EverpostError && error.status === 401) return null;
    throw error;
  }
}
