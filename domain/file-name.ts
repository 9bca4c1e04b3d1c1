/** The longest name that all usual file systems take, in bytes of UTF-8. */
const nameBytesMax = 255;
/** The end of a name by which programs are chosen, in characters with its dot. */
const endingCharsMax = 12;

/**
 * The name of a file as it may stand in a mail. What a reader's program would take for more than a
 * name goes: folders, control characters, and the marks and overrides of writing direction, which
 * show `exe.pdf` where a name ends in `fdp.exe` (Unicode, UAX 9 and UTR 36). White space becomes one
 * space, dots and spaces at either end go: they hide a file, or are dropped when it is stored. Long
 * names lose what is before their ending. Never empty.
 */
export function safeFileName(given: string): string {
  const name = given
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cs}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu, '')
    .split(/[/\\]/)
    .at(-1)!;
  let from = 0;
  let to = name.length;
  while (from < to && ' .'.includes(name[from]!)) from += 1;
  while (to > from && ' .'.includes(name[to - 1]!)) to -= 1;
  return shortened(name.slice(from, to)) || 'attachment';
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
