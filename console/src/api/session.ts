import { accountApi, EverpostError, setOnSessionEnd } from './api.ts';

/** Path of the console. */
export const base = import.meta.env.BASE_URL.replace(/\/$/, '');

/** Address of the current page, relative to the path of the console. */
export const pageAddress = () => location.pathname.slice(base.length) + location.search;

/** Returns the address of the log-in page that leads back to the current page. */
function logInAddress(): string {
  return `${base}/auth/login?next=${encodeURIComponent(pageAddress())}`;
}

/** Returns true for pages below `/auth` that work without a session, such as log-in and sign-up. */
function isOpen(path: string): boolean {
  return path.startsWith('/auth/') && !/^\/auth\/(?:verify-email|linked)(?:\?|$)/.test(path);
}

/** Opens the log-in page. After the log-in, the current page is opened again. */
export function leaveForLogIn(): void {
  if (!isOpen(pageAddress())) location.assign(logInAddress());
}

setOnSessionEnd(leaveForLogIn);

/**
 * Returns the path in the log-in page's parameter `next`, if it is a page of the console, else the
 * path of the first page.
 */
export function nextPage(next: unknown): string {
  const isPage = typeof next === 'string' && /^\/(?![/\\])/.test(next);
  return isPage && !isOpen(next) ? next : '/';
}

const keptKey = 'everpost-next';

/**
 * Remembers the page to open after a sign-in at another site, because from the other site the user
 * returns to the first page.
 */
export function keepNext(next: string): void {
  sessionStorage.setItem(keptKey, next);
}

/**
 * Returns the page to open after a sign-in at another site, and forgets the page; null: no page was
 * remembered.
 */
export function takeNext(): string | null {
  const next = sessionStorage.getItem(keptKey);
  sessionStorage.removeItem(keptKey);
  return next;
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
