import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileSchema, schemaNames } from '../../../api/files/reading/json-schemas/schemas.ts';
import { type FileKind, parseFilePath } from '../../../domain/files/kinds.ts';
import { writeText } from './writing.ts';

/** The JSON Schemas by which editors check and complete the files. */

const folder = '.everpost/schemas';

/** The paths that `writeSchemas` writes. */
export const schemaPaths = schemaNames.map((name) => `${folder}/${name}`);

/** Returns the line by which editors find the schema of a file. */
export function schemaComment(path: string): string {
  const { kind } = parseFilePath(path)!;
  return `# yaml-language-server: $schema=../${folder}/${schemaName(kind)}\n`;
}

function schemaName(kind: FileKind): (typeof schemaNames)[number] {
  return `${kind}.json`;
}

/** Writes the schemas of this version into a folder, unless they are there. */
export async function writeSchemas(dir: string): Promise<void> {
  for (const name of schemaNames) {
    const path = `${folder}/${name}`;
    const text = `${JSON.stringify(fileSchema(name), null, 2)}\n`;
    const before = await readFile(join(dir, path), 'utf8').catch(() => null);
    if (before !== text) await writeText(dir, path, text);
  }
}
