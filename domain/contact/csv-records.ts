/**
 * Splits a CSV file into records (RFC 4180) by its quotes. A line ends with CRLF, LF or a lone CR. A
 * line with invalid quotes is a record of its own with an error, so that it affects no other.
 */

export interface CsvRecord {
  /** As it is in the file, with its line end. */
  text: string;
  /** What is wrong with its quotes; null: nothing. */
  fault: string | null;
}

/**
 * Longest record with quoted cells, in characters; a contact has at most a quarter of it. A longer
 * one has an unclosed quote.
 */
const recordCharsMax = 256 * 1024;

const lineEnd = /\r\n|\n|\r/;

const open = 'A quote is opened and not closed';
const stray = 'A quote stands where none may';
const advice = 'A cell with quotes is put in quotes, and those inside are doubled.';

/** Splits text that comes in chunks. Holds at most one record, or one up to the limit. */
export class CsvRecords {
  /** Starts with a record. */
  #rest = '';
  #line = 1;

  /** The records complete so far. `isEnd`: this is the last chunk. */
  take(text: string, isEnd: boolean): CsvRecord[] {
    const all = this.#rest + text;
    const records: CsvRecord[] = [];
    let from = 0;
    while (from < all.length) {
      const read = readRecord(all, from, isEnd);
      if (!read) break;
      const { end, fault } = read;
      const record = all.slice(from, end);
      records.push({
        text: record,
        fault: fault === null ? null : `${fault}, in line ${this.#line}. ${advice}`,
      });
      this.#line += record.split(lineEnd).length - 1;
      from = end;
    }
    this.#rest = all.slice(from);
    return records;
  }
}

interface Reading {
  /** Position after the record. */
  end: number;
  fault: string | null;
}

/** Reads one record; null when it needs more text to find the end. */
function readRecord(text: string, from: number, isEnd: boolean): Reading | null {
  let at = from;
  let isOpen = false;
  for (;;) {
    at = skipBlanks(text, at);
    if (text[at] === '"') {
      const opening = at;
      const close = closingQuote(text, opening, from + recordCharsMax, isEnd);
      if (close === 'unknown') return null;
      if (close === 'none') return lineWith(open, text, from, isEnd);
      at = skipBlanks(text, close + 1);
      isOpen ||= lineEnd.test(text.slice(opening, close));
    } else {
      at = endOfPlain(text, at);
    }
    if (at >= text.length) return isEnd ? { end: at, fault: null } : null;
    const end = endOfLine(text, at, isEnd);
    if (end === 'unknown') return null;
    if (end !== null) return { end, fault: null };
    // A quote that spans lines and ends in an invalid place was left unclosed on its own line.
    if (text[at] !== ',') return lineWith(isOpen ? open : stray, text, from, isEnd);
    at += 1;
  }
}

/** Position after the line end at `at`, which may be incomplete; null: there is none. */
function endOfLine(text: string, at: number, isEnd: boolean): number | 'unknown' | null {
  if (text[at] === '\n') return at + 1;
  if (text[at] !== '\r') return null;
  if (at + 1 === text.length && !isEnd) return 'unknown';
  return text[at + 1] === '\n' ? at + 2 : at + 1;
}

/** The single line at `from`, with its error. */
function lineWith(fault: string, text: string, from: number, isEnd: boolean): Reading | null {
  const rest = /[^\r\n]*/y;
  rest.lastIndex = from;
  rest.test(text);
  if (rest.lastIndex === text.length) return isEnd ? { end: text.length, fault } : null;
  const end = endOfLine(text, rest.lastIndex, isEnd);
  return end === 'unknown' || end === null ? null : { end, fault };
}

/** Position of the quote that closes the one at `open`; a doubled one is text. */
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

/** Position of the end of an unquoted cell, or of a quote in it. */
function endOfPlain(text: string, from: number): number {
  const plain = /[^,"\r\n]*/y;
  plain.lastIndex = from;
  plain.test(text);
  return plain.lastIndex;
}
