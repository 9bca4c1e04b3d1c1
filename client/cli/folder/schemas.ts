import { type FileKind, parseFilePath } from '../../../domain/files/kinds.ts';

/** The JSON Schemas by which editors check and complete the files. */

export const schemasFolder = '.everpost/schemas';

/** Returns the line by which editors find the schema of a file. */
export function schemaComment(path: string): string {
  const { kind } = parseFilePath(path)!;
  return `# yaml-language-server: $schema=../${schemasFolder}/${schemaName(kind)}\n`;
}

function schemaName(kind: FileKind): string {
  return `${kind}.json`;
}
