import { parseSync, Visitor } from 'oxc-parser';

/** A function or constant of a file that returns SQL to be used in other statements. */
export interface Fragment {
  name: string;
  isExported: boolean;
  /** The SQL, with `$` in place of inserted values. */
  sql: string;
  /** The source code. */
  source: string;
}

/** Matches the first word of a statement or of a part of one. Other SQL is an expression. */
const statement =
  /^[\s$]*(?:(?:insert into|update|delete from|with|select|union)\b|\w+ as (?:materialized )?\()/i;

/** Returns the fragments of a file, in order. */
export function fragmentsOf(file: string, source: string): Fragment[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  const texts: { start: number; text: string }[] = [];
  new Visitor({
    TaggedTemplateExpression({ tag, quasi, start }) {
      const isSql = tag.type === 'Identifier' && tag.name === 'sql';
      if (isSql) texts.push({ start, text: quasi.quasis.map(({ value }) => value.raw).join('$') });
    },
  }).visit(program);
  const found: Fragment[] = [];
  for (const node of program.body) {
    const isExported = node.type === 'ExportNamedDeclaration';
    const declared = isExported ? node.declaration : node;
    if (!declared) continue;
    const { start, end } = declared;
    const own = texts.filter((text) => text.start >= start && text.start < end);
    const add = (name: string) => {
      const sql = own.map(({ text }) => text).filter((text) => !statement.test(text));
      if (sql.length > 0) {
        found.push({ name, isExported, sql: sql.join('\n;\n'), source: source.slice(start, end) });
      }
    };
    if (declared.type === 'FunctionDeclaration' && !declared.async) add(declared.id?.name ?? '');
    if (declared.type === 'VariableDeclaration') {
      const [{ id, init } = {}] = declared.declarations;
      const isAsync = init?.type === 'ArrowFunctionExpression' && init.async;
      if (id?.type === 'Identifier' && init && !isAsync) add(id.name);
    }
  }
  return found;
}

/** Returns the tables that SQL reads, with their aliases. */
export function tablesIn(
  sql: string,
  tables: ReadonlySet<string>,
): { table: string; alias: string | null }[] {
  const named = /\b(?:from|join|using)\s+(\w+)(?:\s+(?:as\s+)?(\w+))?/gi;
  const isWord =
    /^(?:where|join|on|left|inner|cross|order|limit|group|for|union|offset|set|using)$/i;
  return [...sql.matchAll(named)].flatMap(([, table = '', next = '']) => {
    if (!tables.has(table)) return [];
    return [{ table, alias: next === '' || isWord.test(next) ? null : next }];
  });
}
