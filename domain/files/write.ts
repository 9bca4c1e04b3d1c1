import { Document, isMap, isScalar, visit } from 'yaml';
import { replaceStrings } from '../template/liquid-context.ts';
import type { FileFormat, FileKind } from './kinds.ts';

/** Writes files. The same values always give the same bytes. */

/** The values of these keys are written on one line. */
const onOneLine: ReadonlySet<unknown> = new Set(['position', 'transitions']);

/** Escapes each `${` in a text, so that no variable is inserted there. */
export function escapeVariables(text: string): string {
  return text.replaceAll('${', () => '$${');
}

export function fileText(value: Record<string, unknown>, format: FileFormat): string {
  const written = replaceStrings(value, escapeVariables, (key) => key) as Record<string, unknown>;
  return format === 'json' ? `${JSON.stringify(written, null, 2)}\n` : yamlOf(written);
}

/** Returns the file of an object. The value of a template also has its `body`. */
export function objectText(
  kind: FileKind,
  value: Readonly<Record<string, unknown>>,
  format: FileFormat,
): string {
  if (kind !== 'template') return fileText(value, format);
  const { body, ...frontMatter } = value;
  return templateText(frontMatter, String(body));
}

/** Returns the file of a template: its front matter, and its body as it is. */
export function templateText(frontMatter: Record<string, unknown>, body: string): string {
  return `---\n${fileText(frontMatter, 'yaml')}---\n${body}`;
}

function yamlOf(value: Record<string, unknown>): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, scalar) {
      // As a block, a text of blank lines would lose spaces.
      const { value: text } = scalar;
      if (typeof text === 'string' && text.trim() === '') scalar.type = 'QUOTE_DOUBLE';
    },
    Pair(_, { key, value: inner }) {
      if (!isScalar(key) || !onOneLine.has(key.value)) return undefined;
      visit(inner as never, {
        Map(_key, map) {
          map.flow = true;
        },
      });
      return isMap(inner) ? visit.SKIP : undefined;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
