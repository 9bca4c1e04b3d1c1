import { Client } from 'pg';
import { onTestFinished, vi } from 'vitest';

/** A statement in the form that PostgreSQL receives, with $1 … for its values. */
export interface Statement {
  text: string;
  values: readonly unknown[];
}

/**
 * Records the statements that this process sends to PostgreSQL until the end of the test, without
 * transaction commands, and without the statement that begins each connection.
 */
export function recordStatements() {
  const query = vi.spyOn(Client.prototype, 'query');
  onTestFinished(() => query.mockRestore());
  return {
    /** Returns the statements since the last call, in order. */
    take(): Statement[] {
      const calls = query.mock.calls.splice(0) as unknown[][];
      return calls.flatMap(([given, values]) => {
        const text = typeof given === 'string' ? given : (given as { text: string }).text;
        const isFrame = /^(begin|commit|rollback|savepoint|release|set |start )/i.test(text);
        const isOfConnection = text.includes('pg_postmaster_start_time');
        return isFrame || isOfConnection ? [] : [{ text, values: (values ?? []) as unknown[] }];
      });
    },
  };
}

/** Keywords that begin a line of a formatted statement. */
const clauses = [
  'with',
  'select',
  'from',
  '(?:left |inner |cross )?join',
  'where',
  'group by',
  'order by',
  'limit',
  'returning',
  'values',
  'set',
  'on conflict',
  'for (?:no key )?update',
  'for (?:key )?share',
  'insert into',
  'update',
  'delete from',
  'union all',
].join('|');

const pieces = new RegExp(`'(?:[^']|'')*'|[()]|\\b(?:${clauses})\\b|\\w+|[^\\w()']`, 'g');
const isClause = new RegExp(`^(?:${clauses})$`);
const widthMax = 100;

/** Formats a statement: one clause per line, indented by depth, without unnecessary quotes. */
export function formatStatement(text: string): string {
  const plain = text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/"([a-z_]+)"/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  const lines: string[] = [];
  let line = '';
  let depth = 0;
  const end = () => {
    if (line.trim() !== '') lines.push(...wrapped(line.trimEnd()));
  };
  for (const match of plain.matchAll(pieces)) {
    const [piece] = match;
    const isPart = /(?:distinct|do|key|extract\(\w+) $/.test(plain.slice(0, match.index));
    if (isClause.test(piece) && !isPart) {
      end();
      line = '  '.repeat(depth);
    }
    if (piece === '(') depth += 1;
    if (piece === ')') depth -= 1;
    line += piece;
  }
  end();
  return lines.join('\n');
}

/** Breaks a line between words into lines of at most `widthMax` characters, if possible. */
function wrapped(line: string): string[] {
  const indent = /^ */.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let rest = line;
  while (rest.length > widthMax) {
    const at = rest.lastIndexOf(' ', widthMax);
    if (at <= indent.length + 4) break;
    lines.push(rest.slice(0, at));
    rest = `${indent}    ${rest.slice(at + 1)}`;
  }
  return [...lines, rest];
}

/** Tables by noun, which is in most cases a folder of `db/`. */
const tables: Readonly<Record<string, RegExp>> = {
  accounts: /^(app_user|session|account_token|membership|invitation|security_event)$/,
  billing: /^(allowance|usage_report|payment_receipt)/,
  campaigns: /^campaign/,
  contacts: /^(contact|job|import_file)/,
  domains: /^(domain|ses_identity)/,
  emails:
    /^(email|attachment|body_retention|mailbox|system_mail|report_receipt|take_sending|token)/,
  events: /^event/,
  idempotency: /^idempotency/,
  outbox: /^(outbox|watermark)/,
  projects: /^(project|secret|suspension)/,
  requests: /^request_log/,
  segments: /^segment/,
  templates: /^template/,
  workflows: /^(workflow|execution|step_execution|wait)/,
};

export const nouns = [...Object.keys(tables), 'others'];

/**
 * Returns the noun of a statement: that of the first table it writes, otherwise of the first table
 * it reads.
 */
export function nounOf(text: string): string {
  const plain = text.replaceAll('"', '');
  const written = /\b(?:insert into|delete from|(?<!(?:for|do|key) )update) (\w+)/g;
  const read = /\b(?:from|join) (\w+)/g;
  const names = [written, read].flatMap((form) =>
    [...plain.matchAll(form)].map(([, name]) => name),
  );
  const owners = names.map((name = '') => nouns.find((noun) => tables[noun]?.test(name)));
  return owners.find((noun) => noun !== undefined) ?? 'others';
}
