/** Finds valid JSON that a request body must not contain. */

/**
 * A number whose value would silently change when JSON is parsed: an integer with more digits than
 * a double keeps (9007199254740993 would become …992), or a number beyond the range of doubles
 * (1e999 would become Infinity, which is stored as null).
 */
export interface LossyNumber {
  /** Keys and indexes from the outermost to the innermost value. */
  path: (string | number)[];
  literal: string;
}

/**
 * Matches every text with a lossy number, and few others. A text without a match needs no further
 * check.
 */
const suspicious = /\d{16}|\d[eE]\+?\d{3}/;

/** Returns the first lossy number in a JSON text; null: there is none. */
export function findLossyNumber(json: string): LossyNumber | null {
  if (!suspicious.test(json)) return null;
  const token = /["[\]{},:]|-?\d[\d.eE+-]*/g;
  // The current key or index at each level, from the outermost object or list inwards.
  const path: (string | number)[] = [];
  let expectsKey = false;
  for (let match = token.exec(json); match; match = token.exec(json)) {
    const [text] = match;
    switch (text) {
      case '"': {
        const end = endOfText(json, token.lastIndex);
        if (expectsKey) path[path.length - 1] = JSON.parse(json.slice(match.index, end)) as string;
        token.lastIndex = end;
        break;
      }
      case '{':
      case '[':
        path.push(text === '{' ? '' : 0);
        expectsKey = text === '{';
        break;
      case '}':
      case ']':
        path.pop();
        expectsKey = false;
        break;
      case ',': {
        const position = path.at(-1);
        expectsKey = typeof position === 'string';
        if (typeof position === 'number') path[path.length - 1] = position + 1;
        break;
      }
      case ':':
        expectsKey = false;
        break;
      default:
        if (isLossy(text)) return { path, literal: text };
    }
  }
  return null;
}

/**
 * Returns the position after the closing quotation mark of the JSON string that contains `start`.
 */
function endOfText(json: string, start: number): number {
  for (let quote = json.indexOf('"', start); ; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** Rounding a fraction is normal, but an integer must keep all its digits. */
function isLossy(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return true;
  return /^-?\d+$/.test(literal) && BigInt(literal) !== wholeNumber(value);
}

/**
 * Returns the whole number that JavaScript prints for a double: its shortest digits, then zeros.
 * `1e+22` is 10²².
 */
function wholeNumber(value: number): bigint {
  const [digits = '', exponent = '0'] = value.toString().split('e+');
  const [whole = '', behind = ''] = digits.split('.');
  return BigInt(whole + behind.padEnd(Number(exponent), '0'));
}

export interface JsonSize {
  /** Greatest number of objects and lists inside one another. */
  depth: number;
  /** Number of values, including objects and lists. An empty object or list counts twice. */
  items: number;
}

/**
 * Measures JSON before it is parsed, in one pass and without allocating memory. For invalid JSON,
 * the result has no meaning.
 * @param json as UTF-8
 * @param itemsMax the pass stops when it has counted more values than this
 */
export function measureJson(json: Uint8Array, itemsMax: number): JsonSize {
  let [depth, deepest, items] = [0, 0, 1];
  for (let at = 0; at < json.length && items <= itemsMax; at++) {
    switch (json[at]) {
      case 0x22: // "
        at = endOfTextBytes(json, at + 1);
        break;
      case 0x5b: // [
      case 0x7b: // {
        items += 1;
        depth += 1;
        if (depth > deepest) deepest = depth;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
        items += 1;
    }
  }
  return { depth: deepest, items };
}

/** Returns the position of the closing quotation mark, or the end of the JSON if it is missing. */
function endOfTextBytes(json: Uint8Array, start: number): number {
  for (let quote = json.indexOf(0x22, start); ; quote = json.indexOf(0x22, quote + 1)) {
    if (quote < 0) return json.length;
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
}
