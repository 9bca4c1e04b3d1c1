import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { TestApi } from '../api.ts';
import { atEnd } from '../use.ts';

/** A user in front of the console. */
export interface ConsoleUser {
  page: Page;
  email: string;
  /** Session cookie, for requests outside the browser. */
  cookie: string;
  /** Opens a page of the project; a path that begins with `/` is opened unchanged. */
  open: (path: string) => Promise<void>;
  /** Errors in the browser's console, and requests to other servers. */
  faults: string[];
}

/** Path of the console. */
export const consolePath = '/console';

/**
 * Opens a browser window for a user with a session. Errors in the browser's console and requests to
 * other servers are recorded as faults.
 */
export async function openConsole(
  browser: Browser,
  api: TestApi,
  user: { email: string; cookie: string; projectId?: string },
  options: BrowserContextOptions = {},
): Promise<ConsoleUser> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  atEnd(() => context.close());
  const [name, value] = user.cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: api.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const faults: string[] = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(api.url) && !/^(data|blob|about):/.test(url)) faults.push(url);
  });
  return {
    page,
    email: user.email,
    cookie: user.cookie,
    faults,
    async open(path) {
      const inside = path.startsWith('/') ? path : `/${user.projectId}/${path}`;
      await page.goto(`${api.url}${consolePath}${inside.replace(/\/$/, '')}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
  };
}
