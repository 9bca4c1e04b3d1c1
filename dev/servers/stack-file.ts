import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

const StackFile = z.object({
  apiUrl: z.string(),
  temporalAddress: z.string(),
  /** null: TEMPORAL_ADDRESS names an external server, and TEMPORAL_UI_URL is not set. */
  temporalUiUrl: z.string().nullable(),
  databaseUrl: z.string(),
  /** Process id of the launcher. */
  pid: z.number().int(),
});

/** The URLs of a running stack. Other commands find the stack through this file. */
export type StackFile = z.infer<typeof StackFile>;

/**
 * Writes `<dataDir>/stack.json`, readable only by its owner, because the database address contains
 * a password.
 */
export async function writeStackFile(dataDir: string, stack: StackFile): Promise<void> {
  await removeStackFile(dataDir);
  await writeFile(pathIn(dataDir), `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 });
}

/** Reads `stack.json`; null: no stack runs on this directory, or it has not finished starting. */
export async function readStackFile(dataDir: string): Promise<StackFile | null> {
  const text = await readFile(pathIn(dataDir), 'utf8').catch(() => null);
  return text === null ? null : StackFile.parse(JSON.parse(text));
}

export function removeStackFile(dataDir: string): Promise<void> {
  return rm(pathIn(dataDir), { force: true });
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'stack.json');
}
