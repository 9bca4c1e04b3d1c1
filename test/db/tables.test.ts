import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate, PostgresDialect } from 'kysely-codegen';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type OpenDatabase, openDatabase } from '../../db/database.ts';
import { createTestDatabase } from '../support/servers.ts';

let opened: OpenDatabase;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await createTestDatabase();
  opened = openDatabase(database.url, { poolMax: 1 });
  ({ drop } = database);
});
afterAll(async () => {
  await opened.close();
  await drop();
});

/** Returns the types of the tables, and the names of their columns as values. */
async function tables(): Promise<string> {
  const types = await generate({
    // Its Kysely is the CommonJS build of the same class.
    db: opened.db as never,
    dialect: new PostgresDialect(),
    excludePattern: 'kysely_migration*',
    outFile: null,
    singularize: true,
  });
  const short = types.replaceAll(/\/\*\*\n\s+\* (.*)\n\s+\*\//g, '/** $1 */');
  const found = (await opened.db.introspection.getTables()).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  const lists = found.map(({ name, columns }) => {
    const names = columns.map((column) => JSON.stringify(column.name)).toSorted();
    return `  ${name}: [${names.join(', ')}],`;
  });
  const type = '{ readonly [T in keyof DB]: readonly (keyof DB[T])[] }';
  return `${short}\nexport const columns: ${type} = {\n${lists.join('\n')}\n};\n`;
}

it('has the tables of the migrated database in db/tables.ts; npm run tables writes it', async () => {
  const file = join(import.meta.dirname, '../../db/tables.ts');
  const generated = await tables();
  if (process.env['GOLDEN'] === 'write') await writeFile(file, generated);
  expect(generated).toBe(await readFile(file, 'utf8'));
});
