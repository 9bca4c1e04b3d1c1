import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { findContact } from '../db/contacts/contacts.ts';
import type { Database } from '../db/database.ts';
import { findProject } from '../db/projects/projects.ts';
import { findHoldout } from '../db/projects/holdout.ts';
import { readSendPolicy } from '../db/projects/send-policy.ts';
import type { KnownExecution } from '../db/workflows/executions/execution-state.ts';
import { readsOfSimulation } from '../db/reads/simulation.ts';
import { unitMs } from '../domain/filter/filter.ts';
import { simulate } from '../domain/simulation/simulate.ts';
import {
  simulatedStepsMax,
  type Simulation,
  TooManySteps,
} from '../domain/simulation/simulation.ts';
import type { GraphStep } from '../domain/workflow/graph.ts';
import { createRenderer } from '../providers/rendering/renderer.ts';
import { NoHistory } from './history-source.ts';
import { webhookAttemptsDefault } from '../domain/webhook/webhook.ts';
import { branchesOf } from '../domain/workflow/graph-rules.ts';

/** Simulates an execution as if one of its steps had taken another branch. */

/** Maximum simulated time, in days. */
const horizonDays = 400;

/**
 * Continues an execution from one of its steps, as if the step had taken this branch. The
 * simulation begins at the time when the step was left, with the current contact and context,
 * receivers that respond with 200, and no events. Nothing is stored, sent or called.
 * @param given `<step>=<branch>`; the step is named by its id or its name
 * @throws NoHistory when the execution has no such step or branch.
 */
export async function playWhatIf(
  db: Database,
  known: KnownExecution,
  given: string,
): Promise<Simulation> {
  const { step, branch } = choiceOf(known, given);
  const { projectId, workflowId, contactId, context, key, graph, state } = known;
  const [contact, project] = [
    await findContact(db, projectId, contactId),
    await findProject(db, projectId),
  ];
  if (!contact || !project)
    throw new NoHistory('The contact or the project of this execution was deleted.');
  const done = state.steps.find(({ stepId }) => stepId === step.id);
  const startAt = done?.completedAt ?? done?.startedAt ?? state.completedAt ?? new Date();
  const renderer = createRenderer();
  try {
    return await simulate(
      {
        workflow: { id: workflowId, name: state.workflowName },
        graph,
        behind: { stepId: step.id, branch },
        triggerEventName: null,
        contact: { ...contact, createdAt: contact.created_at, updatedAt: contact.updated_at },
        startEventName: null,
        subject: { contact: contactId, key },
        executionKey: null,
        context,
        project,
        policy: await readSendPolicy(db, projectId),
        holdout: await findHoldout(db, projectId),
        received: [],
        events: [],
        receivers: new Map(),
        startAt,
        stopAt: new Date(startAt.getTime() + horizonDays * unitMs.days),
      },
      {
        apiUrl: process.env['API_URL'] ?? 'http://localhost:8080',
        renderer,
        billed: false,
        webhookAttemptsMax: webhookAttemptsDefault,
        ...(await readsOfSimulation(db, { id: contactId, project_id: projectId })),
        mark: randomBytes(16).toString('hex'),
        newId: randomUUID,
        breathe: () => nextTurn(),
      },
    );
  } catch (error) {
    if (error instanceof TooManySteps)
      throw new NoHistory(`The simulation would have more than ${simulatedStepsMax} steps.`);
    throw error;
  } finally {
    await renderer.close();
  }
}

function choiceOf({ graph }: KnownExecution, given: string): { step: GraphStep; branch: string } {
  const at = given.lastIndexOf('=');
  if (at < 1) throw new NoHistory('--what-if takes "<step>=<branch>", such as "Paid?=timeout".');
  const [name, branch] = [given.slice(0, at), given.slice(at + 1)];
  const found = graph.steps.filter((step) => step.id === name || step.name === name);
  const [step, second] = found;
  if (second) {
    const ids = found.map(({ id }) => `\n  ${id}`).join('');
    throw new NoHistory(`Several steps are named "${name}". Name one by its id:${ids}`);
  }
  if (!step) {
    const names = graph.steps.map((one) => `\n  ${one.name}`).join('');
    throw new NoHistory(`The execution's graph has no step "${name}". Its steps:${names}`);
  }
  const branches = branchesOf(step);
  if (branches.includes(branch)) return { step, branch };
  const known = branches.length === 0 ? 'It has no branches.' : `It has: ${branches.join(', ')}.`;
  throw new NoHistory(`"${step.name}" has no branch "${branch}". ${known}`);
}

export function whatIfLines(given: string, played: Simulation): string[] {
  const mails = played.emails.map(({ stepId, at, to, subject, outcome, reason }) => {
    const not = outcome === 'send' ? '' : ` (${outcome}: ${reason})`;
    return { stepId, at, text: `    mail to ${to}: ${subject}${not}` };
  });
  const calls = played.webhooks.map(({ stepId, at, method, url }) => ({
    stepId,
    at,
    text: `    ${method} ${url}`,
  }));
  // An execution enters a step only once, so each mail and request belongs to one step of the path.
  const lines = played.path
    .flatMap(({ stepId, enteredAt, type, name, branch, leftAt }) => {
      const way = branch === null ? '' : ` takes the branch "${branch}"`;
      const open = leftAt === null ? ' is not left' : '';
      const step = { at: enteredAt, text: `${type} "${name}"${way}${open}` };
      return [step, ...[...mails, ...calls].filter((effect) => effect.stepId === stepId)];
    })
    .map(({ at, text }) => `${at.toISOString()}  ${text}`);
  const { status, exitReason, error, endedAt } = played;
  const why = exitReason ?? error;
  const end = `${endedAt ? `${endedAt.toISOString()}  ` : ''}${status}${why === null ? '' : `: ${why}`}`;
  return ['', `What if ${given}? (nothing is stored, sent or called)`, ...lines, end];
}
