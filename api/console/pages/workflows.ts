import type { z } from 'zod';
import { migrateExecutions } from '../../executions/migrate.ts';
import { dryRunEdit } from '../../workflows/dry-run.ts';
import { getWorkflowPicture } from '../../workflows/pictures/pictures.ts';
import { getWorkflowStats } from '../../workflows/pictures/stats.ts';
import { restoreVersion } from '../../workflows/versions/restore.ts';
import { listVersions } from '../../workflows/versions/versions.ts';
import { getWorkflow, listWorkflows, updateWorkflow } from '../../workflows/workflows.ts';
import { ask, type MemberCall } from '../ask.ts';
import { type Html, html } from '../../html/html.ts';
import { type PageContext, pictureOf, projectAct, projectPage } from '../page.ts';
import {
  actForm,
  count,
  figures,
  heading,
  moment,
  pager,
  section,
  state,
  table,
  warningList,
} from '../parts.ts';
import { jobPath } from './jobs.ts';
import { stepModules } from '../../../domain/workflow/steps/registry.ts';

type ListedWorkflow = z.output<typeof listWorkflows.response>['data'][number];
type Stats = z.output<typeof getWorkflowStats.response>;
type Compared = z.output<typeof dryRunEdit.response>;

type Path = PageContext['path'];

const showWorkflows = projectPage({
  id: 'showWorkflows',
  path: '/workflows',
  at: '/workflows',
  summary: 'The workflows of a project',
  async show({ call, path }) {
    const { page = '1', search = '' } = call.query;
    const list = await ask(call, listWorkflows, { query: { page, ...(search && { search }) } });
    return {
      title: 'Workflows',
      content: html`${heading('Workflows')}
      ${section(search === '' ? 'All' : `With “${search}”`, workflowTable(list.data, path), pager(list, { search }))}`,
    };
  },
});

export function workflowTable(workflows: readonly ListedWorkflow[], path: Path): Html {
  return table(
    ['Name', 'State', 'Version#', 'Executions#'],
    workflows.map(({ id, name, version, _count, ...workflow }) => [
      html`<a href="${path(`/workflows/${id}`)}">${name}</a>`,
      workflowState(workflow),
      version,
      count(_count.executions),
    ]),
    'No workflows yet. Create one with POST /workflows.',
  );
}

function workflowState({ enabled, pausedAt }: { enabled: boolean; pausedAt: string | null }): Html {
  return html`${state(enabled ? 'ENABLED' : 'DISABLED')} ${pausedAt && state('PAUSED')}`;
}

const showWorkflow = projectPage({
  id: 'showWorkflow',
  path: '/workflows/{id}',
  at: '/workflows',
  summary: 'A workflow and its executions',
  async show({ call, token, path }) {
    const { id = '' } = call.params;
    const [workflow, stats, compared, versions] = await Promise.all([
      ask(call, getWorkflow, { params: { id } }),
      ask(call, getWorkflowStats, { params: { id } }),
      ask(call, dryRunEdit, { params: { id }, body: { examples: 0 } }),
      ask(call, listVersions, { params: { id }, query: { limit: String(versionsShown) } }),
    ]);
    const { name, version, pausedAt, warnings = [] } = workflow;
    const pausing = pausedAt
      ? { action: path(`/workflows/${id}/resume`), label: 'Resume', weight: 'first' as const }
      : { action: path(`/workflows/${id}/pause`), label: 'Pause' };
    return {
      title: name,
      content: html`${heading(name, html`${workflowState(workflow)} <span class="soft">version ${version}</span>`, html`<a class="button" href="${path(`/workflows/${id}/over-time`)}">Mail over time</a> ${actForm(token, pausing)}`)}
      ${warnings.length > 0 && section('Warnings', warningList(warnings))}
      ${section('Executions', executionFigures(stats), html`<a href="${path(`/executions?workflowId=${id}`)}">All</a>`)}
      ${section('Graph', html`<div class="wide"><img class="picture" src="${path(`/workflows/${id}/graph.svg`)}" alt="The graph of ${name} with its numbers; the table of steps has the same." /></div>`)}
      ${section('Steps', stepTable(id, stats, path))}
      ${section(
        'Versions with active executions',
        versionTable(version, compared),
        olderThan(version, compared) > 0 &&
          actForm(token, {
            action: path(`/workflows/${id}/migrate`),
            label: `Move all to version ${version}`,
            fields: { to: String(version) },
          }),
      )}
      ${section(versions.hasMore ? `Last ${versionsShown} versions` : 'Versions', historyTable(versions.data, { token, action: path(`/workflows/${id}/restore`) }))}`,
    };
  },
});

function executionFigures({ executions }: Stats): Html {
  const { started, active, paused, completed, exited, failed, cancelled } = executions;
  return figures([
    ['Started', count(started)],
    ['Active', count(active)],
    ['Paused', count(paused)],
    ['Completed', count(completed)],
    ['Exited', count(exited)],
    ['Failed', count(failed)],
    ['Cancelled', count(cancelled)],
  ]);
}

function stepTable(workflowId: string, { steps }: Stats, path: Path): Html {
  const people = (stepId: string, status: string, number: number) => {
    if (number === 0) return '0';
    const query = new URLSearchParams({ workflowId, stepId, status }).toString();
    return html`<a href="${path(`/executions?${query}`)}">${count(number)}</a>`;
  };
  return table(
    ['Step', 'Type', 'Entered#', 'Waiting#', 'Completed#', 'Skipped#', 'Failed#', 'Median stay#'],
    steps.map((step) => [
      step.name,
      html`<span class="soft">${step.type.toLowerCase().replaceAll('_', ' ')}</span>`,
      count(step.entered),
      people(step.stepId, 'RUNNING,WAITING', step.waiting),
      // A delay is COMPLETED from its beginning, but the page counts it as waiting until it ends.
      count(
        stepModules[step.type].rests === 'delay'
          ? Math.max(0, step.completed - step.waiting)
          : step.completed,
      ),
      count(step.skipped),
      people(step.stepId, 'FAILED', step.failed),
      step.medianSeconds === null ? '–' : duration(step.medianSeconds),
    ]),
    'No steps yet. Add one with POST /workflows/{id}/steps.',
  );
}

function duration(seconds: number): string {
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ] as const;
  const [size, name] = units.find(([least]) => seconds >= least) ?? [0.001, 'ms'];
  return `${Math.round((seconds / size) * 10) / 10} ${name}`;
}

function versionTable(newest: number, { versions }: Compared): Html {
  return table(
    ['Version', 'Active executions#', 'Same path in the newest#', 'Other path#', 'Cannot move#'],
    versions.map(({ version, active, same, differs, unmappable }) => [
      version === newest ? `${version} (newest)` : version,
      count(active),
      count(same),
      count(differs),
      count(unmappable),
    ]),
    'No active executions.',
  );
}

/** Maximum number of versions on the page of a workflow. */
const versionsShown = 20;

function historyTable(
  versions: z.output<typeof listVersions.response>['data'],
  { token, action }: { token: string; action: string },
): Html {
  return table(
    ['Version', 'Made', 'By', 'Changes', ''],
    versions.map(({ version, at, causedBy, changes, current }) => [
      current ? `${version} (newest)` : version,
      moment(at),
      causedBy?.name ?? '–',
      html`${changes.slice(0, changesShown).map(({ text }) => html`<div>${text}</div>`)}
      ${changes.length > changesShown && html`<div class="soft">and ${changes.length - changesShown} more</div>`}`,
      !current &&
        actForm(token, { action, label: 'Restore', fields: { version: String(version) } }),
    ]),
    'No versions.',
  );
}

/** Maximum number of changes shown in the row of a version. */
const changesShown = 5;

function olderThan(newest: number, { versions }: Compared): number {
  return versions.reduce((sum, { version, active }) => sum + (version < newest ? active : 0), 0);
}

const pauseWorkflow = projectAct({
  path: '/workflows/{id}/pause',
  does: updateWorkflow,
  act: (call) => setPaused(call, true),
});

const resumeWorkflow = projectAct({
  path: '/workflows/{id}/resume',
  does: updateWorkflow,
  act: (call) => setPaused(call, false),
});

async function setPaused(call: MemberCall, paused: boolean) {
  const { id = '' } = call.params;
  await ask(call, updateWorkflow, { params: { id }, body: { paused } });
  return { to: `/workflows/${id}`, done: paused ? 'paused' : 'resumed' } as const;
}

const migrateWorkflow = projectAct({
  path: '/workflows/{id}/migrate',
  does: migrateExecutions,
  async act(call, form) {
    const { id = '' } = call.params;
    const body = { to: Number(form.get('to')) };
    const { jobId } = await ask(call, migrateExecutions, { params: { id }, body });
    return { to: jobPath(id, jobId), done: 'migrating' };
  },
});

const restoreWorkflow = projectAct({
  path: '/workflows/{id}/restore',
  does: restoreVersion,
  async act(call, form) {
    const { id = '' } = call.params;
    await ask(call, restoreVersion, { params: { id, version: form.get('version') ?? '' } });
    return { to: `/workflows/${id}`, done: 'restored' };
  },
});

export const workflowPages = [
  showWorkflows,
  showWorkflow,
  pictureOf('/workflows/{id}/graph.svg', 'showWorkflowPicture', getWorkflowPicture, {
    stats: 'true',
  }),
  pauseWorkflow,
  resumeWorkflow,
  migrateWorkflow,
  restoreWorkflow,
];
