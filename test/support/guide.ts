/** A code block in a guide that its test runs, writes to a file or compares. */
export interface GuideBlock {
  /** `sh`, `json`, `text`, or the language of a file. */
  language: string;
  /** The words after the language: `file=verify.py`. */
  info: string;
  code: string;
  /** The line in the guide, from 1. */
  line: number;
}

/** Returns the fenced code blocks of a guide, in order. */
export function blocksOf(markdown: string): GuideBlock[] {
  const blocks: GuideBlock[] = [];
  let open: GuideBlock | null = null;
  for (const [at, line] of markdown.split('\n').entries()) {
    const fence = /^```(\w*) ?(.*)$/.exec(line);
    if (!fence && open) open.code += `${line}\n`;
    else if (fence && open) {
      blocks.push(open);
      open = null;
    } else if (fence) {
      open = { language: fence[1] ?? '', info: fence[2] ?? '', code: '', line: at + 1 };
    }
  }
  return blocks;
}

/** Stands for any value, or the rest of a text. As a key: further keys are allowed. */
const rest = '…';

/** Values that differ in each run. Two values of the same kind count as equal. */
const kinds = [
  /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/,
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/,
  /^sk_\w+$/,
  /^pk_\w+$/,
  /^whsec_\S+$/,
];

/**
 * Returns the first difference between a response and a guide, as `path: shown, answered`; null:
 * none. Ids, times and keys match any value of the same kind.
 */
export function differenceOf(shown: unknown, answered: unknown, path = 'answer'): string | null {
  if (shown === rest) return null;
  const differs = `${path}: ${JSON.stringify(shown)}, ${JSON.stringify(answered)}`;
  if (typeof shown === 'string' && typeof answered === 'string') {
    return isLike(shown, answered) ? null : differs;
  }
  if (typeof shown !== 'object' || typeof answered !== 'object' || !shown || !answered) {
    return shown === answered ? null : differs;
  }
  if (Array.isArray(shown) !== Array.isArray(answered)) return differs;
  const mayHaveMore = Array.isArray(shown) ? shown.at(-1) === rest : rest in shown;
  const wanted = Object.entries(shown).filter(([name, value]) =>
    Array.isArray(shown) ? !(mayHaveMore && value === rest) : name !== rest,
  );
  const given = answered as Record<string, unknown>;
  const known = new Set(wanted.map(([name]) => name));
  const more = Object.keys(given).find((name) => !known.has(name));
  if (!mayHaveMore && more !== undefined)
    return `${path}.${more}: not shown, ${JSON.stringify(given[more])}`;
  for (const [name, value] of wanted) {
    if (!(name in given)) return `${path}.${name}: ${JSON.stringify(value)}, missing`;
    const difference = differenceOf(value, given[name], `${path}.${name}`);
    if (difference) return difference;
  }
  return null;
}

/** Returns true if a text matches the guide, in which `…` stands for any text. */
export function isLike(shown: string, answered: string): boolean {
  if (kinds.some((kind) => kind.test(shown) && kind.test(answered))) return true;
  let at = 0;
  const parts = shown.split(rest);
  for (const [index, part] of parts.entries()) {
    const found = index === 0 ? (answered.startsWith(part) ? 0 : -1) : answered.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return parts.length > 1
    ? parts.at(-1) === '' || answered.endsWith(parts.at(-1) ?? '')
    : at === answered.length;
}
