import { type RawBuilder, sql } from 'kysely';

/**
 * SQL of the branch that a step has taken, read from its output; null: none. The result must equal
 * that of `branchIn`.
 * @param stepExecution the alias of the table
 */
export function branchOf(stepExecution: string): RawBuilder<string | null> {
  const output = sql.ref(`${stepExecution}.output`);
  return sql`coalesce(${output} ->> 'branch', ${output} ->> 'arm', lower(${output} ->> 'waitOutcome'))`;
}
