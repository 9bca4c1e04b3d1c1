import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that reads the branch that a step has taken from its output; null: none. The same as
 * `branchIn`.
 * @param stepExecution the alias of the table
 */
export function branchOf(stepExecution: string): RawBuilder<string | null> {
  const output = sql.ref(`${stepExecution}.output`);
  return sql`coalesce(${output} ->> 'branch', ${output} ->> 'arm', lower(${output} ->> 'waitOutcome'))`;
}
