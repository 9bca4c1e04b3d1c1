import { type SelectQueryBuilder, sql } from 'kysely';

/**
 * Any of the values, for the right side of `=`. They are one parameter, so the statement is the
 * same for any number of them.
 */
export function anyOf(values: readonly string[], type: 'uuid' | 'text' = 'uuid') {
  return sql<string>`any(${values}::${sql.raw(type)}[])`;
}

/** Whether one of the columns contains the text, case-insensitively. */
export function containsText(columns: readonly string[], text: string) {
  const matches = columns.map(
    (column) => sql`strpos(lower(${sql.ref(column)}), lower(${text})) > 0`,
  );
  return sql<boolean>`(${sql.join(matches, sql` or `)})`;
}

/** The number of rows of a query. */
export async function countRows<D, T extends keyof D>(
  query: SelectQueryBuilder<D, T, object>,
): Promise<number> {
  const { total } = await query
    .select(sql<number>`count(*)::int`.as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow();
  return total;
}

/** The query of the lists of templates, campaigns and workflows. */
export interface ListQuery {
  search?: string | undefined;
  sort: 'name' | 'createdAt' | 'updatedAt';
  dir: 'asc' | 'desc';
  /** The first page is 1. */
  page: number;
  pageSize: number;
}

/** The columns by which a list can be sorted. */
export const sortColumns = {
  name: 'name',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const;
