import { parseSync, Visitor } from 'oxc-parser';
import { check } from 'recheck';

/** Finds the regular expressions of the code, and those that take more than linear time. */

export interface Regex {
  /** The line in the file, from 1. */
  line: number;
  /** The source of the expression; null: the expression is built at run time. */
  pattern: string | null;
  flags: string;
  /**
   * The comment that explains why the expression is safe, if the analysis cannot prove it; null:
   * none.
   */
  reason: string | null;
}

/**
 * On a busy machine, a short `attackTimeout` would report safe expressions as unsafe. It is long,
 * so that the limit of steps usually decides.
 */
const limits = { timeout: 120_000, attackTimeout: 30_000, incubationTimeout: 30_000 };

/** A comment with the reason for an expression on the same or the next line. */
const safe = /^[\s*]*Safe regex: (\S.{9,})$/s;

/** Returns the regular expressions of a TypeScript source, in order. */
export function regexesOf(file: string, source: string): Regex[] {
  const { program, comments, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const lineOf = (at: number) => source.slice(0, at).split('\n').length;
  const reasons = new Map<number, string>();
  for (const { value, end } of comments) {
    const reason = safe.exec(value)?.[1];
    if (reason !== undefined) reasons.set(lineOf(end), reason.trim());
  }
  const found: Regex[] = [];
  const add = (start: number, pattern: string | null, flags: string) => {
    const line = lineOf(start);
    const reason = reasons.get(line) ?? reasons.get(line - 1) ?? null;
    found.push({ line, pattern, flags, reason });
  };
  const addMade = (node: { start: number; callee: { type: string } }) => {
    const { callee } = node;
    const isRegExp = callee.type === 'Identifier' && 'name' in callee && callee.name === 'RegExp';
    if (isRegExp) add(node.start, null, '');
  };
  new Visitor({
    Literal(node) {
      if ('regex' in node) add(node.start, node.regex.pattern, node.regex.flags);
    },
    NewExpression: addMade,
    CallExpression: addMade,
  }).visit(program);
  return found.toSorted((a, b) => a.line - b.line);
}

/**
 * Returns the reason why an expression may take more than linear time, or null. Expressions without
 * unbounded repetition are not analysed, because they read a bounded number of characters at each
 * position. A failed analysis counts as a fault.
 */
export async function faultOf({ pattern, flags, reason }: Regex): Promise<string | null> {
  if (reason !== null) return null;
  if (pattern === null) return 'is made while the program runs';
  if (!/[*+]|\{\d+,\}/.test(pattern)) return null;
  const found = await check(pattern, flags, limits);
  if (found.status === 'safe') return null;
  if (found.status === 'unknown') return `cannot be analysed (${found.error.kind})`;
  return `is ${found.complexity.summary}, as for ${found.attack.pattern}`;
}
