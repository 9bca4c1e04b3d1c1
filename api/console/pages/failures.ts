import type { z } from 'zod';
import { findExecutions } from '../../executions/search.ts';
import { retryAllExecutions } from '../../executions/retry-all.ts';
import { getWorkflow } from '../../workflows/workflows.ts';
import { ask, type MemberCall } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, projectAct, projectPage } from '../page.ts';
import { actForm, count, heading, moment, retryForms, section, state } from '../parts.ts';
import { pathOf } from './executions.ts';
import { jobPath } from './jobs.ts';
import { stepModules, type StepType } from '../../../domain/workflow/steps/registry.ts';

type Listed = z.output<typeof findExecutions.response>['data'][number];

/** Maximum number of executions of each kind that are read to build the groups, newest first. */
const lookedAt = '100';
/** Maximum number of executions listed per group, and of groups on the overview. */
const namedMax = 5;
/** Maximum number of characters of an error that the list and `retry-all` search for. */
const errorCharsMax = 200;

/** The query for each kind, the most severe first. */
const listed = {
  FAILED: { status: 'FAILED' },
  STUCK: { stuck: 'true' },
  WARNINGS: { warnings: 'true' },
} as const;
const kinds = ['FAILED', 'STUCK', 'WARNINGS'] as const;

/** Executions with the same error at the same step. */
export interface FailureGroup {
  kind: (typeof kinds)[number];
  workflow: { id: string; name: string };
  step: { id: string; name: string } | null;
  error: string;
  executions: Listed[];
}

/**
 * The groups of executions that failed, are stuck or completed with warnings, largest first.
 * `isCut`: there are more executions than were read.
 */
export interface Failures {
  groups: FailureGroup[];
  isCut: boolean;
}

export async function listFailures(call: MemberCall): Promise<Failures> {
  const lists = await Promise.all(
    kinds.map((kind) => ask(call, findExecutions, { query: { ...listed[kind], limit: lookedAt } })),
  );
  const groups = new Map<string, FailureGroup>();
  lists.forEach(({ data }, at) => {
    const kind = kinds[at]!;
    for (const execution of data) {
      // List each execution once, under its most severe kind.
      if (kind === 'WARNINGS' && (execution.status === 'FAILED' || execution.stuck)) continue;
      const group = groupOf(kind, execution);
      const key = JSON.stringify([kind, group.workflow.id, group.step?.id, group.error]);
      const known = groups.get(key) ?? group;
      known.executions.push(execution);
      groups.set(key, known);
    }
  });
  return {
    groups: [...groups.values()].toSorted((a, b) => b.executions.length - a.executions.length),
    isCut: lists.some(({ hasMore }) => hasMore),
  };
}

function groupOf(kind: FailureGroup['kind'], execution: Listed): FailureGroup {
  const { workflow, failedStep, currentStep, error, stuck, warnings } = execution;
  const said = {
    FAILED: error ?? 'The execution failed without an error text.',
    STUCK: stuck?.reason ?? 'Its Temporal run cannot continue.',
    WARNINGS:
      warnings === 1
        ? 'A step did not succeed, and the execution continued.'
        : 'Several steps did not succeed, and the execution continued.',
  };
  return { kind, workflow, step: failedStep ?? currentStep, error: said[kind], executions: [] };
}

const showFailures = projectPage({
  id: 'showFailures',
  path: '/failures',
  at: '/failures',
  summary: 'Failed and stuck executions and warnings, by workflow, step and error',
  async show({ call, token, path }) {
    const { groups, isCut } = await listFailures(call);
    const ids = [...new Set(groups.map(({ workflow }) => workflow.id))];
    const workflows = await Promise.all(
      ids.map((id) => ask(call, getWorkflow, { params: { id } })),
    );
    const ofId = new Map(workflows.map((workflow) => [workflow.id, workflow]));
    return {
      title: 'Failures',
      content: html`${heading('Failures', isCut && html`<span class="soft">of the newest ${lookedAt} of each kind</span>`)}
      ${groups.length === 0 && html`<section><p>No failed or stuck executions.</p></section>`}
      ${groups.map((group) => groupSection(group, ofId.get(group.workflow.id), { token, path, isCut }))}`,
    };
  },
});

function groupSection(
  group: FailureGroup,
  now: z.output<typeof getWorkflow.response> | undefined,
  { token, path, isCut }: Pick<PageContext, 'token' | 'path'> & { isCut: boolean },
): Html {
  const { kind, workflow, step, error, executions } = group;
  const receiver = step && receiverOf(now?.steps.find(({ id }) => id === step.id));
  const retryAll =
    kind === 'FAILED' &&
    retryForms(
      token,
      {
        action: path(`/workflows/${workflow.id}/retry-all`),
        // The job retries all executions of the group, not only those that were read for this page.
        label:
          executions.length > 1 && !isCut ? `Retry all ${count(executions.length)}` : 'Retry all',
        fields: {
          ...(step && { stepId: step.id }),
          ...(executions[0]?.error && { error: executions[0].error }),
        },
      },
      {
        versions: executions.map(({ workflowVersion }) => workflowVersion),
        newest: now?.version ?? 0,
      },
    );
  const pause = now?.pausedAt
    ? { action: path(`/workflows/${workflow.id}/resume`), label: 'Resume workflow' }
    : { action: path(`/workflows/${workflow.id}/pause`), label: 'Pause workflow' };
  const one = (execution: Listed, name: string, label: string) =>
    actForm(token, { action: path(`${pathOf(execution)}/${name}`), label });
  const rows = executions.slice(0, namedMax).map(
    (execution) =>
      html`<tr>
        <td><a href="${path(pathOf(execution))}">${execution.contact.email}</a></td>
        <td>${moment(timeOf(execution))}</td>
        <td class="acting">
          <span class="acts"
            >${kind === 'FAILED' && html`${one(execution, 'retry', 'Retry')}${one(execution, 'skip', 'Skip step')}`}</span
          >
        </td>
      </tr>`,
  );
  const more = executions.length - rows.length;
  return section(
    `${workflow.name}${step ? ` · ${step.name}` : ''}`,
    html`<p>
        ${state(kind)} ${count(executions.length)}
        ${executions.length === 1 ? 'execution' : 'executions'}, ${span(executions)}
        ${now?.pausedAt && html`· the workflow is ${state('PAUSED')}`}
      </p>
      <p class="error">${error}</p>
      ${receiver && html`<p>Receiver: <code>${receiver}</code></p>`}
      <div class="wide">
        <table class="people">
          <tbody>
            ${rows}
          </tbody>
        </table>
      </div>
      ${more > 0 && html`<p><a href="${path(`/executions?${listQuery(group)}`)}">${count(more)} more</a></p>`}`,
    html`<span class="acts">${retryAll}${actForm(token, pause)}</span>`,
  );
}

/**
 * Returns the URL that a step calls in the newest version, with its placeholders; null: the step
 * has no URL.
 */
function receiverOf(step: { type: StepType; config: Record<string, unknown> } | undefined) {
  return (step && stepModules[step.type]?.address?.(step.config)) ?? null;
}

/** Shows the times of the first and the last failure, or one time if they share a minute. */
function span(executions: readonly Listed[]): Html {
  const times = executions.map(timeOf).toSorted();
  const [first, last] = [times[0], times.at(-1)];
  const minute = (time = '') => time.slice(0, '2026-11-21T08:30'.length);
  const isOne = minute(first) === minute(last);
  return isOne ? html`at ${moment(first)}` : html`from ${moment(first)} to ${moment(last)}`;
}

function timeOf({ stuck, completedAt, startedAt }: Listed): string {
  return stuck?.since ?? completedAt ?? startedAt;
}

function listQuery({ kind, workflow, step, executions }: FailureGroup): string {
  return new URLSearchParams({
    workflowId: workflow.id,
    ...listed[kind],
    ...(executions[0]?.error && { error: executions[0].error.slice(0, errorCharsMax) }),
    ...(kind === 'FAILED' && step && { stepId: step.id }),
  }).toString();
}

/** Shows the largest groups of failures on the overview. */
export function failureTable({ groups }: Failures, path: PageContext['path']): Html {
  if (groups.length === 0) return html`<p class="soft">No failed or stuck executions.</p>`;
  return html`<div class="wide">
    <table>
      <tbody>
        ${groups.slice(0, namedMax).map(
          ({ kind, workflow, step, error, executions }) =>
            html`<tr>
              <td class="nowrap">${state(kind)} ${count(executions.length)}</td>
              <td>
                <a href="${path('/failures')}">${workflow.name}${step && ` · ${step.name}`}</a>
              </td>
              <td class="error">${error}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const retryGroup = projectAct({
  path: '/workflows/{id}/retry-all',
  does: retryAllExecutions,
  async act(call, form) {
    const { id = '' } = call.params;
    const [stepId, error, version] = ['stepId', 'error', 'version'].map((name) => form.get(name));
    const body = {
      ...(stepId && { stepId }),
      ...(version && { version: Number(version) }),
      ...(error && { errorContains: error.slice(0, errorCharsMax) }),
    };
    const { jobId } = await ask(call, retryAllExecutions, { params: { id }, body });
    return { to: jobPath(id, jobId), done: 'retriedAll' };
  },
});

export const failurePages = [showFailures, retryGroup];
