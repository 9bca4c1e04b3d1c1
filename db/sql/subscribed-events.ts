import { type RawBuilder, sql } from 'kysely';

/** SQL that is true if a name matches one of the items: `*`, `<prefix>.*` or the name itself. */
export function itemsMatch(
  items: RawBuilder<unknown>,
  name: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`exists (select from unnest(${items}) as inner_item
    where inner_item in ('*', ${name})
      or right(inner_item, 2) = '.*' and starts_with(${name}, left(inner_item, -1)))`;
}
