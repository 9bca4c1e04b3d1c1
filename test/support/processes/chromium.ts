import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { use } from '../use.ts';

const chromiumPath = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((file) => existsSync(file));

/** Returns the Chromium of this machine, or the one in `CHROMIUM_PATH`; null: there is none. */
export async function useBrowser(): Promise<Browser | null> {
  if (!chromiumPath) return null;
  return use(await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox'] }));
}
