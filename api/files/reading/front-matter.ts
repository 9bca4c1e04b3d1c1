/** The file of a template: front matter between two lines `---`, then the body. */

export interface TemplateParts {
  frontMatter: string;
  /** The line of the file on which the front matter begins. */
  frontMatterLine: number;
  /** All characters after the second line `---`. */
  body: string;
  bodyLine: number;
}

/** Splits the file of a template; null: it has no front matter. */
export function splitTemplate(text: string): TemplateParts | null {
  const [opening] = /^\uFEFF?---[ \t]*\r?\n/.exec(text) ?? [];
  if (opening === undefined) return null;
  // Without the flag m, for which a line also ends at U+2028, which is a character of YAML texts.
  const closing = /(?<=\n)---[ \t]*(?:\r?\n|$)/g;
  closing.lastIndex = opening.length;
  const found = closing.exec(text);
  if (!found) return null;
  const frontMatter = text.slice(opening.length, found.index);
  const end = found.index + found[0].length;
  return {
    frontMatter,
    frontMatterLine: 2,
    body: text.slice(end),
    bodyLine: 3 + (frontMatter.match(/\n/g)?.length ?? 0),
  };
}
