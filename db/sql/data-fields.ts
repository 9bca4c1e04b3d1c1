import { type RawBuilder, sql } from 'kysely';
import { limits } from '../../domain/limits.ts';

export type DataFieldType = 'string' | 'number' | 'boolean' | 'date';

export interface DataField {
  key: string;
  type: DataFieldType;
}

/**
 * SQL that selects the type of each key among rows (key, value, created_at, id): the most frequent
 * type of its newest values. null is ignored; lists and objects count as text.
 */
export function typedSql(valued: RawBuilder<unknown>): RawBuilder<DataField> {
  return sql<DataField>`
    select distinct on (key) key, type
      from (select key, value = 'null' as empty, case
            when jsonb_typeof(value) in ('number', 'boolean') then jsonb_typeof(value)
            when jsonb_typeof(value) = 'string' and value #>> '{}'
              ~ '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}:\\d{2}(\\.\\d{3})?Z?)?$' then 'date'
            else 'string' end as type
          from (select key, value,
                row_number() over (partition by key order by created_at desc, id desc) as age
              from ${valued}) aged
          where age <= ${sql.lit(limits.fieldTypeValues)}) known
      group by key, type
      order by key, count(*) filter (where not empty) desc, type`;
}
