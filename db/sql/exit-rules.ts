import { type RawBuilder, sql } from 'kysely';

/**
 * SQL of whether a rule of any workflow names an event: null or false where none does. The next entry
 * of the index is read, and compared: for a condition on the project, the planner may read the whole
 * table when another project has thousands of rows.
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
 * SQL of whether an execution is an active one of the contact of an event, and a rule of its
 * workflow names the event. Found by the contact: a workflow may have a million executions, and a project
 * ten thousand workflows with a rule.
 * Both parameters are aliases.
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
