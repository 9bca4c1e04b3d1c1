import { getExecutionJob } from '../../executions/execution-jobs.ts';
import { getWorkflow } from '../../workflows/workflows.ts';
import { ask } from '../ask.ts';
import { html } from '../../html/html.ts';
import { projectPage } from '../page.ts';
import { count, facts, figures, heading, moment, section, state } from '../parts.ts';

/** The path of the page of a job on the executions of a workflow. */
export function jobPath(workflowId: string, jobId: string): string {
  return `/workflows/${workflowId}/jobs/${jobId}`;
}

const titles = {
  'retry-all': 'Retry of what has failed',
  migrate: 'Move to another version',
  'move-waits': 'Move of waits',
} as const;

const showJob = projectPage({
  id: 'showJob',
  path: '/workflows/{id}/jobs/{jobId}',
  at: '/workflows',
  summary: 'How far a job on the executions of a workflow is, and what came of it',
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
            ['Asked', moment(job.createdAt)],
            ['Begun', moment(job.startedAt)],
            ['Ended', moment(job.finishedAt)],
            ...(failedReason ? [['Error', failedReason] as const] : []),
            ['Done', `${progress} %`],
          ]),
        )}
        ${
          result &&
          section(
            'What came of it',
            figures(Object.entries(result).map(([name, value]) => [named(name), count(value)])),
          )
        }
        <p>
          ${result === null && html`<a href="${path(jobPath(id, jobId))}">Look again</a> · `}<a
            href="${path('/failures')}"
            >To the failures</a
          >
        </p>`,
    };
  },
});

/** A count as a heading: `retried` → `Retried`. */
function named(count: string): string {
  return count[0]!.toUpperCase() + count.slice(1);
}

export const jobPages = [showJob];
