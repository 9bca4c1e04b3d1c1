import { sql } from 'kysely';
import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';

/** Requests a job on the executions of a workflow. Returns its id. */
export async function askForJob(
  engine: Engine,
  workflowId: string,
  path: string,
  body: object = {},
): Promise<string> {
  const answer = await engine.call('POST', `/workflows/${workflowId}/${path}`, body);
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  return answer.body.jobId;
}

/** Returns a job on the executions of a workflow, once it has ended. */
export async function endOfExecutionJob(
  engine: Engine,
  workflowId: string,
  jobId: string,
  timeoutMs?: number,
) {
  const ask = async () => {
    const { body } = await engine.call('GET', `/workflows/${workflowId}/jobs/${jobId}`);
    return body.finishedAt ? body : null;
  };
  return waitFor(`the end of ${jobId}`, ask, timeoutMs);
}

/**
 * Inserts many executions that failed at the step after the trigger, each with its own contact. The
 * first inserted execution has the latest start.
 */
export async function insertFailed(
  { api: { db }, project }: Engine,
  workflow: { id: string; steps: Record<string, string> },
  given: { step: string; count: number; error?: string },
): Promise<void> {
  const { step, count, error = 'The receiver answered 503.' } = given;
  await sql`
    with person as (
      insert into contact (project_id, email, subscribed)
        select ${project.id}, gen_random_uuid() || '@people.test', true
          from generate_series(1, ${count}::int)
        returning id
    ), failed as (
      insert into execution (project_id, workflow_id, workflow_version, workflow_name, contact_id,
          status, current_step_id, error, started_at, completed_at)
        select ${project.id}, ${workflow.id}, version, name, person.id, 'FAILED',
            ${workflow.steps[step]}, ${error},
            now() - interval '1 hour' - row_number() over () * interval '1 millisecond',
            now() - interval '30 minutes'
          from person, workflow where workflow.id = ${workflow.id}
        returning id
    )
    insert into step_execution (project_id, execution_id, step_id, status, error, completed_at)
      select ${project.id}, failed.id, step.id::uuid, step.status,
          case step.status when 'FAILED' then ${error}::text end, now()
        from failed, (values (${workflow.steps['TRIGGER']}::text, 'COMPLETED'),
          (${workflow.steps[step]}::text, 'FAILED')) as step(id, status)`.execute(db);
}

/** Counts the executions of a workflow by status. */
export async function countStatuses(
  { api: { db } }: Engine,
  workflowId: string,
): Promise<Record<string, number>> {
  const rows = await db
    .selectFrom('execution')
    .select(['status', sql<number>`count(*)::int`.as('count')])
    .where('workflow_id', '=', workflowId)
    .groupBy('status')
    .execute();
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
