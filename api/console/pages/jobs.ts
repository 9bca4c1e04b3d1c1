import { getExecutionJob } from '../../executions/execution-jobs.ts';
import { getWorkflow } from '../../workflows/workflows.ts';
import { ask } from '../ask.ts';
import { html } from '../../html/html.ts';
import { projectPage } from '../page.ts';
import { actorText, count, facts, figures, heading, moment, section, state } from '../parts.ts';

/** Returns the path of a job's page. The job works on the executions of a workflow. */
export function jobPath(workflowId: string, jobId: string): string {
  return `/workflows/${workflowId}/jobs/${jobId}`;
}

const titles = {
  'retry-all': 'Retry of failed executions',
  migrate: 'Move to another version',
  'move-waits': 'Change of the ends of waits',
} as const;

const showJob = projectPage({
  id: 'showJob',
  path: '/workflows/{id}/jobs/{jobId}',
  at: '/workflows',
  summary: 'The progress and result of a job on the executions of a workflow',
  async show({ call, path }) {
    const { id = '', jobId = '' } = call.params;
    const [job, workflow] = await Promise.all([
      ask(call, getExecutionJob, { params: { id, jobId } }),
      ask(call, getWorkflow, { params: { id } }),
    ]);
    const { progress, result, failedReason, data } = job;
    const title = titles[data.operation];
    return {
      title,
      content: html`${heading(title, state(job.state.toUpperCase()))}
        ${section(
          workflow.name,
          facts([
            ['Workflow', html`<a href="${path(`/workflows/${id}`)}">${workflow.name}</a>`],
            ['Requested', moment(job.createdAt)],
            ['Caused by', actorText(job.causedBy)],
            ['Started', moment(job.startedAt)],
            ['Ended', moment(job.finishedAt)],
            ...(failedReason ? [['Error', failedReason] as const] : []),
            ['Progress', `${progress} %`],
          ]),
        )}
        ${
          result &&
          section(
            'Result',
            figures(Object.entries(result).map(([name, value]) => [named(name), count(value)])),
          )
        }
        <p>
          ${result === null && html`<a href="${path(jobPath(id, jobId))}">Refresh</a> · `}<a
            href="${path('/failures')}"
            >Failures</a
          >
        </p>`,
    };
  },
});

/** Converts the name of a count to a heading: `retried` → `Retried`. */
function named(count: string): string {
  return count[0]!.toUpperCase() + count.slice(1);
}

export const jobPages = [showJob];
