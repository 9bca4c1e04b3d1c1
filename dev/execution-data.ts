import { defaultPayloadConverter, fromPayloadsAtIndex } from '@temporalio/common';
import { findContact } from '../db/contacts/contacts.ts';
import type { Database } from '../db/database.ts';
import {
  findExecutionState,
  type KnownExecution,
} from '../db/workflows/executions/execution-state.ts';
import { pictureOfExecution } from '../domain/picture/graph-picture.ts';
import { layOut } from '../domain/picture/layout.ts';
import { pictureStepsMax } from '../domain/picture/picture.ts';
import { svgOf } from '../domain/picture/svg.ts';
import type { ExecutionStart } from '../domain/runs/execution.ts';
import { shownConfig } from '../domain/secrets/in-templates.ts';
import { explanationOf } from '../domain/workflow/explanation.ts';
import type { HistoryLine } from '../worker/history-events.ts';
import { type FoundRun, NoHistory } from './history-source.ts';

/** Reads from the database the data of an execution that are not in the history of its run. */

/**
 * Reads the execution of a run from the database.
 * @throws NoHistory when the run belongs to no execution, or the execution was deleted.
 */
export async function executionOf(
  db: Database,
  { workflowId, history }: FoundRun,
): Promise<KnownExecution> {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (started?.workflowType?.name !== 'customerWorkflow') {
    throw new NoHistory(
      `${workflowId} is not the run of an execution, so it has no steps of a workflow.`,
    );
  }
  const { executionId } = fromPayloadsAtIndex<ExecutionStart>(
    defaultPayloadConverter,
    0,
    started.input?.payloads,
  );
  const known = await findExecutionState(db, executionId);
  if (!known) throw new NoHistory(`The database has no execution ${executionId} (any more).`);
  return known;
}

/**
 * Draws the path of an execution as SVG, as the API does. @throws NoHistory when the graph is too
 * large.
 */
export function drawExecution({ graph, state }: KnownExecution): string {
  if (graph.steps.length > pictureStepsMax) {
    const { length } = graph.steps;
    throw new NoHistory(
      `The workflow has ${length} steps; a picture has at most ${pictureStepsMax}.`,
    );
  }
  return svgOf(layOut(pictureOfExecution(graph, state)));
}

/** Input and result of a step, which contain a customer's data. */
export interface StepData {
  stepId: string;
  /** The step in the form that the lines of a history use: `WEBHOOK "Call"`. */
  step: string;
  status: string;
  attempts: number;
  input: Record<string, unknown>;
  output: unknown;
  /**
   * The reason why the step waits or took a branch, in words; null: the output does not show the
   * reason.
   */
  explanation: string | null;
  error: string | null;
}

export interface ExecutionData {
  contact: unknown;
  context: unknown;
  steps: StepData[];
}

/**
 * Returns the inputs and outputs of an execution. Header values that are credentials are masked.
 */
export async function dataOf(db: Database, known: KnownExecution): Promise<ExecutionData> {
  const { graph, stepExecutions, projectId, contactId, context } = known;
  const contact = await findContact(db, projectId, contactId);
  return {
    contact: contact && {
      id: contact.id,
      email: contact.email,
      subscribed: contact.subscribed,
      data: contact.data,
    },
    context,
    steps: stepExecutions.flatMap(({ step_id: stepId, status, attempts, output, error }) => {
      const step = graph.steps.find(({ id }) => id === stepId);
      if (!step) return [];
      const { config, templateId } = step;
      const input = { ...shownConfig(config), ...(templateId !== null && { templateId }) };
      const name = `${step.type} "${step.name}"`;
      const explanation = explanationOf(step, output as Record<string, unknown> | null);
      return [{ stepId, step: name, status, attempts, input, output, explanation, error }];
    }),
  };
}

/**
 * Returns the lines of a history, with the input and output of a step after the last line about it.
 */
export function linesWithData(lines: readonly HistoryLine[], data: ExecutionData): string[] {
  const about = ({ text }: HistoryLine, { step }: StepData) => text.includes(step);
  const shown = (step: StepData): string[] => [
    ...(step.explanation === null ? [] : [`    why       ${step.explanation}`]),
    `    in        ${JSON.stringify(step.input)}`,
    `    out       ${JSON.stringify(step.output)}`,
    ...(step.error === null ? [] : [`    error     ${step.error}`]),
  ];
  const [first, ...rest] = lines.flatMap((line, index) => {
    const told = data.steps.filter(
      (step) => about(line, step) && !lines.slice(index + 1).some((later) => about(later, step)),
    );
    return [`${line.at}  ${line.text}`, ...told.flatMap(shown)];
  });
  const untold = data.steps.filter((step) => !lines.some((line) => about(line, step)));
  return [
    first ?? '',
    `    contact   ${JSON.stringify(data.contact)}`,
    `    context   ${JSON.stringify(data.context)}`,
    ...untold.flatMap((step) => [`    ${step.step} ${step.status}`, ...shown(step)]),
    ...rest,
  ];
}
