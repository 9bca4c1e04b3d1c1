import { CsvFault } from './csv.ts';

/**
 * Splits a CSV file into lines and cells (RFC 4180). A line ends with CRLF, LF or a lone CR. Wrong
 * quotes in a line are an error of this line alone.
 */

export interface CsvLine {
  /**
   * The line number in the file, from 1. A line with line breaks in quoted cells has the number of
   * its first part.
   */
  line: number;
  /** The cells as written, possibly with surrounding blanks. */
  cells: string[];
  /** The error in the quotes of the line; null: no error. */
  fault: string | null;
}

export type FileBytes = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Maximum number of characters of a line with quoted cells. A contact needs at most a quarter of
 * this, so in a longer line a closing quote is missing.
 */
const lineCharsMax = 256 * 1024;

const lineEnd = /\r\n|\n|\r/g;

const open = 'a quotation mark opens a cell and is not closed';
const stray =
  'a quotation mark is inside an unquoted cell, or text follows a closing quotation mark';
const advice =
  'Put the whole cell in quotation marks, and write each quotation mark inside it twice.';

/**
 * Yields all lines that end in one chunk of the file together, because awaiting each line would
 * dominate the cost.
 * @throws CsvFault when the file is not in UTF-8.
 */
export async function* readCsvLines(file: FileBytes): AsyncGenerator<CsvLine[], void, undefined> {
  const lines = new CsvLines();
  for await (const text of decode(file)) {
    const ended = lines.take(text, false);
    if (ended.length > 0) yield ended;
  }
  const last = lines.take('', true);
  if (last.length > 0) yield last;
}

/** Decodes a file, and skips its byte order mark. */
async function* decode(file: FileBytes): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isFirst = true;
  for await (const bytes of file) {
    if (isFirst) refuseUtf16(bytes);
    isFirst = false;
    const text = textOf(() => decoder.decode(bytes, { stream: true }));
    if (text !== '') yield text;
  }
  textOf(() => decoder.decode());
}

function textOf(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new CsvFault('The file is not encoded as UTF-8. Save it as CSV in UTF-8.');
  }
}

function refuseUtf16([first, second]: Uint8Array): void {
  const isMarked = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isMarked) throw new CsvFault('The file is encoded as UTF-16. Save it as CSV in UTF-8.');
}

/** Splits text that arrives in chunks. In memory it keeps at most one incomplete line. */
class CsvLines {
  /** The text that is not split yet, from the start of a line on. */
  #rest = '';
  #line = 1;

  /**
   * Adds a chunk, and returns the lines that are now complete, without empty ones. `isEnd`: the
   * chunk is the last one.
   */
  take(text: string, isEnd: boolean): CsvLine[] {
    const all = this.#rest + text;
    const lines: CsvLine[] = [];
    let from = 0;
    while (from < all.length) {
      const read = readLine(all, from, isEnd);
      if (!read) break;
      const { end, cells, fault, lineEnds } = read;
      const line = this.#line;
      if (fault !== null) {
        lines.push({ line, cells: [], fault: `In line ${line}, ${fault}. ${advice}` });
      } else if (cells.length > 0) lines.push({ line, cells, fault });
      this.#line += lineEnds;
      from = end;
    }
    this.#rest = all.slice(from);
    return lines;
  }
}

interface Reading {
  end: number;
  /** Empty for an empty line, or for a line with an error. */
  cells: string[];
  fault: string | null;
  lineEnds: number;
}

/** Reads one line; null: the text does not yet contain the end of the line. */
function readLine(text: string, from: number, isEnd: boolean): Reading | null {
  let at = from;
  let lineEnds = 1;
  let isQuoted = false;
  const cells: string[] = [];
  for (;;) {
    at = skipBlanks(text, at);
    const start = at;
    if (text[at] === '"') {
      const close = closingQuote(text, start, from + lineCharsMax, isEnd);
      if (close === 'unknown') return null;
      if (close === 'none') return lineWith(open, text, from, isEnd);
      const cell = text.slice(start + 1, close);
      cells.push(cell.replaceAll('""', '"'));
      lineEnds += cell.match(lineEnd)?.length ?? 0;
      isQuoted = true;
      at = skipBlanks(text, close + 1);
    } else {
      at = endOfPlain(text, at);
      cells.push(text.slice(start, at));
    }
    const end = at < text.length ? endOfLine(text, at, isEnd) : isEnd ? at : 'unknown';
    if (end === 'unknown') return null;
    if (end !== null) {
      const isEmpty = cells.length === 1 && !isQuoted && cells[0]?.trim() === '';
      return { end, cells: isEmpty ? [] : cells, fault: null, lineEnds };
    }
    // A quoted cell that spans lines and ends at a wrong character probably lacks its closing quote
    // in the first line.
    if (text[at] !== ',') return lineWith(lineEnds > 1 ? open : stray, text, from, isEnd);
    at += 1;
  }
}

/**
 * Returns the position after the line end at `at`. `unknown`: a CR is the last character, and the
 * next chunk may begin with LF. null: there is no line end at `at`.
 */
function endOfLine(text: string, at: number, isEnd: boolean): number | 'unknown' | null {
  if (text[at] === '\n') return at + 1;
  if (text[at] !== '\r') return null;
  if (at + 1 === text.length && !isEnd) return 'unknown';
  return text[at + 1] === '\n' ? at + 2 : at + 1;
}

/**
 * Returns the text from `from` to the next line break, as a line with an error. null: the text does
 * not yet contain the line break.
 */
function lineWith(fault: string, text: string, from: number, isEnd: boolean): Reading | null {
  const rest = /[^\r\n]*/y;
  rest.lastIndex = from;
  rest.test(text);
  const line = { cells: [], fault, lineEnds: 1 };
  if (rest.lastIndex === text.length) return isEnd ? { ...line, end: text.length } : null;
  const end = endOfLine(text, rest.lastIndex, isEnd);
  return end === 'unknown' || end === null ? null : { ...line, end };
}

/**
 * Returns the position of the quote that closes the quote at `open`. Two quotes in a row stand for
 * a quote in the text. `none`: no closing quote up to `limit`; `unknown`: the next chunk may
 * contain the closing quote.
 */
function closingQuote(
  text: string,
  open: number,
  limit: number,
  isEnd: boolean,
): number | 'none' | 'unknown' {
  for (let at = open + 1; ; at += 2) {
    at = text.indexOf('"', at);
    if (at > limit || (at < 0 && (isEnd || text.length > limit))) return 'none';
    if (at < 0 || (at + 1 === text.length && !isEnd)) return 'unknown';
    if (text[at + 1] !== '"') return at;
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\f') at += 1;
  return at;
}

/** Returns the end of an unquoted cell, or the position of a quote in it. */
function endOfPlain(text: string, from: number): number {
  const plain = /[^,"\r\n]*/y;
  plain.lastIndex = from;
  plain.test(text);
  return plain.lastIndex;
}
