import { existsSync } from 'node:fs';

/** The Chromium of this machine, or the one `CHROMIUM_PATH` names; undefined: there is none. */
export const chromiumPath = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((file) => existsSync(file));
