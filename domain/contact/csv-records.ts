/**
 * Where the records of a CSV file end (RFC 4180), told from its quotes. A line whose quotes make no
 * sense is a record of its own with a fault, so that it spoils no other.
 */

export interface CsvRecord {
  /** As it stands in the file, with its line end. */
  text: string;
  /** What is wrong with its quotes; null: nothing. */
  fault: string | null;
}

/**
 * Longest record with quoted cells, in characters; a contact holds a quarter of
 * it. What goes on for longer is a quote that somebody has forgotten to close.
 */
const recordCharsMax = 256 * 1024;

const open = 'A quote is opened and not closed';
const stray = 'A quote stands where none may';
const advice = 'A cell with quotes is put in quotes, and those inside are doubled.';

/** Splits text that comes in pieces. Keeps no more than one record, or the bound of one. */
export class CsvRecords {
  /** Begins with a record. */
  #rest = '';
  #line = 1;

  /** The records that end in what is there by now. `isEnd`: nothing more comes. */
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
      this.#line += record.split('\n').length - 1;
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

/** Reads one record; null when more text is needed to know where it ends. */
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
      isOpen ||= text.slice(opening, close).includes('\n');
    } else {
      at = endOfPlain(text, at);
    }
    if (at >= text.length) return isEnd ? { end: at, fault: null } : null;
    if (text[at] === '\n') return { end: at + 1, fault: null };
    // A quote over several lines that makes no sense there is one that was not closed in its own.
    if (text[at] !== ',') return lineWith(isOpen ? open : stray, text, from, isEnd);
    at += 1;
  }
}

/** The line at `from` alone, with its fault. */
function lineWith(fault: string, text: string, from: number, isEnd: boolean): Reading | null {
  const end = text.indexOf('\n', from);
  if (end < 0) return isEnd ? { end: text.length, fault } : null;
  return { end: end + 1, fault };
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
  while (text[at] === ' ' || text[at] === '\t' || text[at] === '\r' || text[at] === '\f') at += 1;
  return at;
}

/** Position of what ends a cell without quotes, or of a quote in it. */
function endOfPlain(text: string, from: number): number {
  const plain = /[^,"\n]*/y;
  plain.lastIndex = from;
  plain.test(text);
  return plain.lastIndex;
}
