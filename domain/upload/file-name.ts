/** Maximum number of bytes, in UTF-8, of a name that all common file systems accept. */
const nameBytesMax = 255;
/** Maximum number of characters of a file extension, with its dot. */
const endingCharsMax = 12;

/**
 * Returns a file name that is safe in a mail, and never empty. Folders, control characters and
 * marks of the writing direction are removed; such a mark can show `fdp.exe` as `exe.pdf` (Unicode,
 * UAX 9 and UTR 36). White space becomes one space.
 *
 * Dots and spaces at both ends are removed, because systems hide such files or drop these
 * characters. Long names are cut before their extension.
 */
export function safeFileName(given: string): string {
  const name = given
    .replace(/\s/gu, ' ')
    .replace(/[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    // Spaces are merged last, because removed marks may have stood between two of them.
    .replace(/ +/g, ' ')
    .split(/[/\\]/)
    .at(-1)!;
  let from = 0;
  while (from < name.length && ' .'.includes(name[from]!)) from += 1;
  // A name that was cut may again end in a dot or a space.
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
