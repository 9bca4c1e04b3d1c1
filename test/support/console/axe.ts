import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Returns what axe finds on the page, one text per rule: `color-contrast: .second`. */
export async function axeFindings(page: Page): Promise<string[]> {
  // `evaluate` runs the script, because the page's policy allows no scripts of other origins.
  await page.evaluate(await source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { target: string[] }[] }[] }> };
    };
    const { violations } = await axe.run();
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
    );
  });
}

/** Returns true if the page as a whole scrolls horizontally. */
export async function scrollsSideways(page: Page): Promise<boolean> {
  const script = 'document.documentElement.scrollWidth > document.documentElement.clientWidth';
  return page.evaluate<boolean>(script);
}

/** The four combinations of width and colour scheme in which every page is checked. */
export const looks = [
  { name: 'light', options: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } },
  { name: 'dark', options: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' } },
  {
    name: 'light on a phone',
    options: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  },
  {
    name: 'dark on a phone',
    options: { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  },
] as const;
