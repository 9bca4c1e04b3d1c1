import { type RawBuilder, sql } from 'kysely';

/** SQL of whether a name fits one of the items: `*`, `<prefix>.*` or the name itself. */
export function itemsMatch(
  items: RawBuilder<unknown>,
  name: RawBuilder<unknown>,
): RawBuilder<boolean> {
  return sql<boolean>`exists (select from unnest(${items}) as item
    where item in ('*', ${name}) or right(item, 2) = '.*' and starts_with(${name}, left(item, -1)))`;
}
