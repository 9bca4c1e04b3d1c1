import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Environment, variable } from './environment.ts';
import { unreadable } from './failure.ts';

/** The profiles that login stored: the url and the key of each profile. */
export type StoredProfiles = Record<string, { url: string; key: string }>;

/** Returns the path of the file with the keys. */
export function credentialsFile(env: Environment): string {
  const folder = variable(env, 'XDG_CONFIG_HOME') ?? join(homedir(), '.config');
  return join(folder, 'everpost', 'config.json');
}

/** @throws Failure if the file is damaged */
export async function readStored(env: Environment): Promise<StoredProfiles> {
  const file = credentialsFile(env);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw unreadable(`${file} cannot be read: ${(error as Error).message}`);
  }
  const stored = parsed(text);
  if (stored === null) {
    throw unreadable(`${file} is damaged. Delete it and run everpost login again.`);
  }
  return stored;
}

function parsed(text: string): StoredProfiles | null {
  try {
    const { profiles } = JSON.parse(text) as { profiles: Record<string, Record<string, unknown>> };
    const isWhole = Object.values(profiles).every(
      ({ url, key }) => typeof url === 'string' && typeof key === 'string',
    );
    return isWhole ? (profiles as StoredProfiles) : null;
  } catch {
    // The reason may contain a part of a key.
    return null;
  }
}

/** Replaces the file, which only the user can read. */
export async function writeStored(env: Environment, profiles: StoredProfiles): Promise<void> {
  const file = credentialsFile(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // The file is never seen half written, nor with another mode.
  const next = `${file}.${process.pid}`;
  try {
    await writeFile(next, `${JSON.stringify({ profiles }, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    await rename(next, file);
  } finally {
    await rm(next, { force: true });
  }
}
