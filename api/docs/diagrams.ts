import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The diagrams of `docs/`. `npm run golden` draws them, because drawing needs a layout engine of 8
 * MB that no server should load. The file name of a drawing is a hash of its source, so a page
 * never shows an outdated drawing.
 */
export const diagramsFolder = join(import.meta.dirname, '../../docs/images/diagrams');

export function diagramFile(source: string): string {
  return `${createHash('sha256').update(source.trim()).digest('hex').slice(0, 12)}.svg`;
}

/** Returns all drawings as SVG, by file name. */
export async function readDiagrams(): Promise<ReadonlyMap<string, string>> {
  const files = await readdir(diagramsFolder);
  const read = files.map(
    async (file) => [file, await readFile(join(diagramsFolder, file), 'utf8')] as const,
  );
  return new Map(await Promise.all(read));
}
