import type { z } from 'zod';
import { findStep } from '../../../domain/workflow/graph.ts';
import { resultsOf } from '../../../domain/workflow/graph-rules.ts';
import { findExecutions } from '../../executions/search.ts';
import { pauseOneExecution, resumeOneExecution, skipCurrentStep } from '../../executions/acts.ts';
import { getExecution, retryFailedExecution } from '../../executions/executions.ts';
import { runUrlOf } from '../../executions/record.ts';
import { getWorkflow } from '../../workflows/workflows.ts';
import { getExecutionPicture } from '../../workflows/pictures/pictures.ts';
import { ask } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, pictureOf, projectAct, projectPage } from '../page.ts';
import {
  actForm,
  actorText,
  facts,
  further,
  heading,
  moment,
  retryForms,
  section,
  state,
  table,
} from '../parts.ts';

type Listed = z.output<typeof findExecutions.response>['data'][number];
type Execution = z.output<typeof getExecution.response>;

/** The filters that the page passes on to `GET /executions`. */
const filters = [
  'workflowId',
  'stepId',
  'status',
  'stuck',
  'warnings',
  'error',
  'version',
  'cursor',
] as const;

const showExecutions = projectPage({
  id: 'showExecutions',
  path: '/executions',
  at: '/workflows',
  summary: 'Executions of a project',
  async show({ call, path }) {
    const given = filters.flatMap((name) => {
      const value = call.query[name];
      return value ? [[name, value] as const] : [];
    });
    const { data, cursor } = await ask(call, findExecutions, {
      query: Object.fromEntries(given),
    });
    const kept = Object.fromEntries(given.filter(([name]) => name !== 'cursor'));
    return {
      title: 'Executions',
      content: html`${heading('Executions')}
      ${section('Newest first', html`${executionTable(data, path)}${further(cursor, kept)}`)}`,
    };
  },
});

/**
 * @param options.isOfOne true: all executions belong to one contact, so the contact is not shown
 */
export function executionTable(
  executions: readonly Listed[],
  path: PageContext['path'],
  { isOfOne = false } = {},
): Html {
  const name = isOfOne ? [] : ['Contact'];
  const hasKeys = executions.some(({ key }) => key !== null);
  return table(
    [...name, 'Workflow', ...(hasKeys ? ['Key'] : []), 'State', 'At', 'Started'],
    executions.map((execution) => {
      const link = (text: string) => html`<a href="${path(pathOf(execution))}">${text}</a>`;
      const { contact, workflow, failedStep, currentStep, startedAt } = execution;
      return [
        ...(isOfOne ? [link(workflow.name)] : [link(contact.email), workflow.name]),
        ...(hasKeys ? [execution.key] : []),
        executionState(execution),
        (failedStep ?? currentStep)?.name,
        moment(startedAt),
      ];
    }),
    'No executions.',
  );
}

export function executionState(
  execution: Pick<Listed, 'status' | 'pausedAt' | 'stuck' | 'warnings'>,
): Html {
  const { status, pausedAt, stuck, warnings } = execution;
  return html`${state(status)} ${isActive({ status }) && pausedAt && state('PAUSED')}
  ${stuck && state('STUCK')} ${warnings > 0 && state('WARNINGS')}`;
}

function isActive({ status }: Pick<Listed, 'status'>): boolean {
  return status === 'RUNNING' || status === 'WAITING';
}

export function pathOf({ id, workflow }: { id: string; workflow: { id: string } }): string {
  return `/workflows/${workflow.id}/executions/${id}`;
}

const showExecution = projectPage({
  id: 'showExecution',
  path: '/workflows/{id}/executions/{executionId}',
  at: '/workflows',
  summary: 'An execution, step by step',
  async show({ call, token, path }) {
    const { id = '', executionId = '' } = call.params;
    const execution = await ask(call, getExecution, { params: { id, executionId } });
    const graph = await ask(call, getWorkflow, { params: { id } });
    const current = findStep(graph, execution.currentStepId ?? '');
    const ways = current ? resultsOf(graph, current) : [];
    const { contact, workflow, error, stuck, exitReason } = execution;
    // True if the execution is held only because its workflow is paused.
    const isHeld = isActive(execution) && !execution.pausedAt && workflow.pausedAt !== null;
    const pauseReason = isHeld ? 'with its workflow, which is paused' : execution.pauseReason;
    const pausedAt = execution.pausedAt ?? workflow.pausedAt;
    const run = runUrlOf(call.config, executionId);
    const said = [
      ['Error', error],
      ['Stuck', stuck?.reason],
      ['Ended', exitReason],
      ['Paused', pauseReason],
    ] as const;
    return {
      title: `${contact.email} in ${workflow.name}`,
      content: html`${heading(contact.email, executionState({ ...execution, pausedAt }), executionActs(execution, { ways, newest: graph.version }, { token, path }))}
      ${section(
        workflow.name,
        facts([
          [
            'Workflow',
            html`<a href="${path(`/workflows/${id}`)}">${workflow.name}</a>, version
              ${execution.workflowVersion}`,
          ],
          ['Contact', html`<a href="${path(`/contacts/${contact.id}`)}">${contact.email}</a>`],
          ...(execution.key === null ? [] : [['Key', execution.key] as const]),
          ['Started', moment(execution.startedAt)],
          ['Caused by', actorText(execution.causedBy)],
          ['Ended', moment(execution.completedAt)],
          ...(execution.context
            ? [['Context', html`<code>${shortJson(execution.context)}</code>`] as const]
            : []),
          ...said.flatMap(([name, text]) => (text ? [[name, text] as const] : [])),
          [
            'Run',
            html`${run ? html`<a href="${run}">${execution.temporalWorkflowId}</a>` : execution.temporalWorkflowId}`,
          ],
        ]),
      )}
      ${section('Path', html`<div class="wide"><img class="picture" src="${path(`${pathOf(execution)}/graph.svg`)}" alt="The path of the execution. The table of steps shows the same." /></div>`)}
      ${section('Steps', stepTable(execution))}`,
    };
  },
});

/**
 * @param workflow.ways the branches from which the user must choose to skip the step; empty: the
 * step has one transition
 * @param workflow.newest the newest version of the workflow
 */
function executionActs(
  execution: Execution,
  { ways, newest }: { ways: readonly string[]; newest: number },
  { token, path }: Pick<PageContext, 'token' | 'path'>,
): Html {
  const { status, pausedAt } = execution;
  const action = (name: string) => path(`${pathOf(execution)}/${name}`);
  const may = {
    pause: isActive(execution) && !pausedAt,
    resume: isActive(execution) && pausedAt,
    retry: status === 'FAILED',
  };
  const way =
    ways.length > 0 &&
    html`<select name="branch" aria-label="Branch on which the execution continues">
      ${ways.map((branch) => html`<option>${branch}</option>`)}
    </select>`;
  return html`${
    may.retry &&
    retryForms(
      token,
      { action: action('retry'), label: 'Retry' },
      { versions: [execution.workflowVersion], newest },
    )
  }
  ${may.resume && actForm(token, { action: action('resume'), label: 'Resume', weight: 'first' })}
  ${may.pause && actForm(token, { action: action('pause'), label: 'Pause' })}
  ${(may.retry || status === 'WAITING') && actForm(token, { action: action('skip'), label: 'Skip step', inputs: way })}`;
}

function stepTable(execution: Execution): Html {
  const waitsIn = execution.status === 'WAITING' ? execution.currentStepId : null;
  return table(
    ['Step', 'State', 'Started', 'Ended', 'Result'],
    execution.stepExecutions.map((one) => {
      const { step, startedAt, error, output } = one;
      // A delay is COMPLETED from its beginning, but the page shows it as WAITING until it ends.
      const isDelayed = step.id === waitsIn && one.status === 'COMPLETED';
      const { status, completedAt } = isDelayed ? delayed : one;
      const due = completedAt ? null : endOf(one);
      return [
        step.name,
        state(status),
        moment(startedAt),
        due ? html`due ${moment(due)}` : moment(completedAt),
        html`${error} ${output && html`<code>${shortJson(output)}</code>`}`,
      ];
    }),
    'No step has started yet.',
  );
}

/**
 * Returns when an open step continues at the latest: a delay ends, a wait times out, or a webhook
 * is attempted again; null: unknown.
 */
function endOf({ status, ...step }: Execution['stepExecutions'][number]) {
  // A step that began after a delay also has a `scheduledFor`, but that time has passed.
  if (status === 'SCHEDULED') return step.scheduledFor;
  if (status === 'WAITING') return step.executeAfter;
  const told = step.output?.['resumeAt'] ?? step.output?.['nextAttemptAt'];
  return typeof told === 'string' ? told : null;
}

const delayed = { status: 'WAITING', completedAt: null } as const;

function shortJson(value: Record<string, unknown>): string {
  return JSON.stringify(value).slice(0, outputCharsMax);
}

/** Maximum number of shown characters of an output, which may contain a whole webhook response. */
const outputCharsMax = 500;

const executionForms = [
  [retryFailedExecution, 'retry', 'retried'],
  [skipCurrentStep, 'skip', 'skipped'],
  [pauseOneExecution, 'pause', 'paused'],
  [resumeOneExecution, 'resume', 'resumed'],
] as const;

export const executionPages = [
  showExecutions,
  showExecution,
  pictureOf(
    '/workflows/{id}/executions/{executionId}/graph.svg',
    'showExecutionPicture',
    getExecutionPicture,
    {},
  ),
  ...executionForms.map(([endpoint, name, done]) =>
    projectAct({
      path: `/workflows/{id}/executions/{executionId}/${name}`,
      does: endpoint,
      async act(call, form) {
        const { id = '', executionId = '' } = call.params;
        const [branch, version] = [form.get('branch'), form.get('version')];
        const body = { ...(branch && { branch }), ...(version && { version: Number(version) }) };
        await ask<z.ZodType>(call, endpoint, { params: { id, executionId }, body });
        return { to: `/workflows/${id}/executions/${executionId}`, done };
      },
    }),
  ),
];
