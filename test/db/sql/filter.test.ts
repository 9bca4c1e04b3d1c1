import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../../db/database.ts';
import { migrateToLatest } from '../../../db/migrate.ts';
import { conditionSql } from '../../../db/sql/filter.ts';
import type { Condition, Filter } from '../../../domain/filter/filter.ts';
import { parseCondition } from '../../../domain/filter/parse.ts';
import type { Segments } from '../../../domain/filter/references.ts';
import { limits } from '../../../domain/limits.ts';
import { filterTable, nameOf, now, segmentIds } from '../../domain/filter/filter-table.ts';
import { alone, useFilterDatabase } from '../../support/projects/filter-database.ts';
import { databaseAt, execute } from '../../support/servers.ts';

const database = await useFilterDatabase();
const { store, ask } = database;

const proOnly = alone({ field: 'data.plan', operator: 'equals', value: 'pro' });
const tableSegments: Segments = new Map([
  [segmentIds.vip, null],
  [segmentIds.pro, proOnly],
]);

describe('the database says that a contact', () => {
  let answers: (boolean | null)[][];
  beforeAll(async () => {
    const ids = await store(
      filterTable.map(({ contact }) => contact),
      tableSegments,
    );
    answers = await Promise.all(
      filterTable.map(async ({ filter }, index) => {
        const [row] = await ask([alone(filter)], [ids[index]!], tableSegments);
        return row!;
      }),
    );
  });

  it.each(filterTable.map((row, index) => [nameOf(row), index] as const))('%s', (_, index) => {
    expect(answers[index]).toEqual([filterTable[index]!.matches]);
  });
});

describe('segments that name segments', () => {
  const isPro = proOnly.groups[0]!.filters[0]!;
  const id = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const member = (index: number): Filter => ({
    field: `segment.${id(index)}`,
    operator: 'memberOfSegment',
  });

  it('are asked once each, however often they are named', async () => {
    const chain: Segments = new Map(
      Array.from({ length: 40 }, (_, index) => [
        id(index),
        index === 39
          ? proOnly
          : {
              logic: 'AND',
              groups: [{ filters: Array.from({ length: 5 }, () => member(index + 1)) }],
            },
      ]),
    );
    const ids = await store([{ data: { plan: 'pro' } }, {}], new Map());
    expect(await ask([alone(member(0))], ids, chain)).toEqual([[true], [false]]);
  });

  it('are fifty at most, each naming the two before it', async () => {
    const chain: Segments = new Map(
      Array.from({ length: limits.segmentReach }, (_, index) => {
        const before = [index - 1, index - 2].filter((other) => other >= 0).map(member);
        return [id(index), { logic: 'AND', groups: [{ filters: [...before, isPro] }] }];
      }),
    );
    const ids = await store([{ data: { plan: 'pro' } }, {}], new Map());
    const asked = [alone(member(limits.segmentReach - 1))];
    expect(await ask(asked, ids, chain)).toEqual([[true], [false]]);
  });

  it('have no members through themselves', async () => {
    const either = (...filters: Filter[]): Condition => ({
      logic: 'OR',
      groups: filters.map((filter) => ({ filters: [filter] })),
    });
    const circle: Segments = new Map([
      [id(1), either(member(2), member(1))],
      [id(2), either(member(1), isPro)],
    ]);
    const ids = await store([{ data: { plan: 'pro' } }, {}], new Map());
    const asked = [alone(member(1)), either(member(1), member(2)), either(member(2), member(1))];
    expect(await ask(asked, ids, circle)).toEqual([
      [true, true, true],
      [false, false, false],
    ]);
  });
});

it('the largest condition there may be is answered', async () => {
  const field = `data.${'a.'.repeat(497)}b`;
  const filters = Array.from({ length: 100 }, (): Filter => ({
    field,
    operator: 'contains',
    value: '2026-11-20',
  }));
  const { condition, problems } = parseCondition({ operator: 'OR', conditions: filters }, '');
  expect(problems).toEqual([]);
  const ids = await store([{ data: { a: 1 } }], new Map());
  expect(await ask([condition!], ids, new Map())).toEqual([[false]]);
});

it('texts are ordered by code points, whatever the language of the database', async () => {
  const { url } = database;
  const name = `english_${randomUUID().replaceAll('-', '')}`;
  await execute(
    url,
    `create database ${name} template template0 locale_provider icu icu_locale 'en'`,
  );
  const english = databaseAt(url, name);
  await migrateToLatest(english);
  const { db, close } = openDatabase(english, { poolMax: 1 });
  const field = 'data.x';
  const condition = alone({ field, operator: 'greaterThan', value: 'B' });
  const { rows } = await sql`select 'b' > 'B' as language, ${conditionSql(condition, {
    now,
    segments: new Map(),
    contact: 'c',
  })} as filter from (select '{"x":"b"}'::jsonb as data) as c`.execute(db);
  await close();
  await execute(url, `drop database ${name}`);
  expect(rows).toEqual([{ language: false, filter: true }]);
});
