/** The longest name that all common file systems accept, in bytes of UTF-8. */
const nameBytesMax = 255;
/** Longest file extension, in characters with its dot. */
const endingCharsMax = 12;

/**
 * Returns a file name that is safe in a mail, and never empty. Folders, control characters and marks
 * that change the writing direction are removed. Such a mark can show `fdp.exe` as `exe.pdf` (Unicode,
 * UAX 9 and UTR 36). White space becomes one space.
 *
 * Dots and spaces at either end are removed, because they hide a file, or are dropped when it is
 * stored. Long names are cut before their extension.
 */
export function safeFileName(given: string): string {
  const name = given
    .replace(/\s/gu, ' ')
    .replace(/[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    // After the marks are removed, because two blanks may have stood on both sides of one.
    .replace(/ +/g, ' ')
    .split(/[/\\]/)
    .at(-1)!;
  let from = 0;
  while (from < name.length && ' .'.includes(name[from]!)) from += 1;
  // A name that was cut may end in a dot or a space.
  return withoutEnd(shortened(withoutEnd(name.slice(from)))) || 'attachment';
}

function withoutEnd(name: string): string {
  let to = name.length;
  while (to > 0 && ' .'.includes(name[to - 1]!)) to -= 1;
  return name.slice(0, to);
}

function shortened(name: string): string {
  const encoder = new TextEncoder();
  const bytesOf = (text: string) => encoder.encode(text).length;
  if (bytesOf(name) <= nameBytesMax) return name;
  const dot = name.lastIndexOf('.');
  const ending = dot > 0 && name.length - dot <= endingCharsMax ? name.slice(dot) : '';
  let bytes = bytesOf(ending);
  let start = '';
  for (const character of name) {
    bytes += bytesOf(character);
    if (bytes > nameBytesMax) break;
    start += character;
  }
  return start + ending;
}
