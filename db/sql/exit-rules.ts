import { type RawBuilder, sql } from 'kysely';

/**
 * SQL that is true if a rule of any workflow uses an event; null or false otherwise. It reads the
 * next entry of the index and compares it: with a condition on the project, the planner may read
 * the whole table when another project has thousands of rows.
 * @param event the alias of a row with `project_id` and `name`.
 */
export function isExitEvent(event: string): RawBuilder<boolean | null> {
  const key = sql`(${sql.ref(`${event}.project_id`)}, ${sql.ref(`${event}.name`)})`;
  return sql`(
    select (inner_next.project_id, inner_next.event_name) = ${key} from exit_event inner_next
      where (inner_next.project_id, inner_next.event_name) >= ${key}
      order by inner_next.project_id, inner_next.event_name limit 1)`;
}

/**
 * SQL that is true if an execution is active, belongs to the contact of an event, and a rule of its
 * workflow uses the event. It starts from the contact, because a workflow may have a million
 * executions, and a project ten thousand workflows with a rule. Both parameters are aliases.
 */
export function mayBeEnded(execution: string, event: string): RawBuilder<boolean> {
  const ofExecution = (name: string) => sql.ref(`${execution}.${name}`);
  const ofEvent = (name: string) => sql.ref(`${event}.${name}`);
  return sql<boolean>`(${ofExecution('contact_id')} = ${ofEvent('contact_id')}
    and ${ofExecution('status')} in ('RUNNING', 'WAITING')
    and (select true from exit_event inner_exit
      where inner_exit.project_id = ${ofEvent('project_id')}
        and inner_exit.event_name = ${ofEvent('name')}
        and inner_exit.workflow_id = ${ofExecution('workflow_id')}))`;
}
