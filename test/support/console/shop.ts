import type { Browser, BrowserContextOptions } from 'playwright-core';
import { expect } from 'vitest';
import type { TestApi } from '../api.ts';
import { axeFindings, scrollsSideways } from './axe.ts';
import { type ConsoleUser, openConsole } from './open.ts';

export interface ConsoleShop extends ConsoleUser {
  projectId: string;
  /** Returns the body of a response to a request of the user in the project. */
  // oxlint-disable-next-line typescript/no-explicit-any
  call(method: string, path: string, body?: unknown): Promise<any>;
  /**
   * Requires that axe finds nothing on the page, and that the page does not scroll sideways. The
   * variable SHOTS names a folder for pictures of the page.
   */
  check(place: string): Promise<void>;
}

/** Opens a window for the owner of a new project with these contacts. */
export async function openShop(
  browser: Browser,
  api: TestApi,
  contacts: readonly object[],
  options: BrowserContextOptions = {},
): Promise<ConsoleShop> {
  const owner = await api.signUp();
  const { id: projectId } = await api.createProject(owner.cookie, 'Shop');
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { 'x-project-id': projectId };
    return (await api.request(method, path, { cookie: owner.cookie, headers, body })).body;
  };
  for (const contact of contacts) await call('POST', '/contacts', contact);
  const user = await openConsole(browser, api, { ...owner, projectId }, options);
  const { page } = user;
  return {
    ...user,
    projectId,
    call,
    async check(place) {
      await page.waitForLoadState('networkidle');
      if (process.env['SHOTS']) {
        const look = `${options.viewport?.width}-${options.colorScheme}`;
        const path = `${process.env['SHOTS']}/${place.replaceAll(' ', '-')}-${look}.png`;
        await page.screenshot({ path, fullPage: true });
      }
      expect([place, await axeFindings(page)]).toEqual([place, []]);
      expect([place, await scrollsSideways(page)]).toEqual([place, false]);
    },
  };
}
