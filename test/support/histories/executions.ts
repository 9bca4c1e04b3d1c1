import { randomUUID } from 'node:crypto';
import type { Engine } from '../engine.ts';
import { newAddress } from '../projects/shop.ts';
import { waitFor } from '../wait-for.ts';

/** A step of a workflow to create. */
export interface StepPlan {
  type: string;
  name: string;
  config?: Record<string, unknown>;
  templateId?: string;
}

/**
 * A transition between two steps, by name (TRIGGER is the first step), with a branch if the step
 * has several.
 */
export type WayPlan = [from: string, to: string, branch?: string];

/** Creates a template with a usable sender. Returns its id. */
export async function createTemplate(
  engine: Pick<Engine, 'call' | 'domain'>,
  given: { type?: string; subject?: string; body?: string } = {},
): Promise<string> {
  const { body } = await engine.call('POST', '/templates', {
    name: 'Template',
    subject: given.subject ?? 'Hello {{name ?? you}}',
    body: given.body ?? '<p>Hello {{name ?? you}}</p>',
    type: given.type ?? 'TRANSACTIONAL',
    from: `team@${engine.domain}`,
  });
  return body.id as string;
}

/** A workflow to create. Without `ways`, each step leads to the next. */
export interface WorkflowPlan {
  eventName?: string;
  allowReentry?: boolean;
  executionKey?: string;
  reentry?: object;
  /** Conditions of the trigger. */
  where?: object[];
  steps: StepPlan[];
  ways?: WayPlan[];
  exitRules?: object[];
}

/** Returns a transition from each step to the next. */
const inLine = (steps: StepPlan[]): WayPlan[] =>
  steps.map(({ name }, index) => [steps[index - 1]?.name ?? 'TRIGGER', name]);

/** Creates and enables a workflow through the API. Returns its id and the ids of its steps. */
export async function createWorkflow(
  engine: Pick<Engine, 'call'>,
  plan: WorkflowPlan,
): Promise<{ id: string; steps: Record<string, string> }> {
  const { call } = engine;
  const { body: workflow } = await call('POST', '/workflows', {
    name: 'Journey',
    triggerConfig: { eventName: plan.eventName ?? 'started', where: plan.where ?? [] },
    ...(plan.reentry ? {} : { allowReentry: plan.allowReentry ?? false }),
    executionKey: plan.executionKey,
    reentry: plan.reentry,
  });
  const path = `/workflows/${workflow.id}`;
  const { body: whole } = await call('GET', path);
  const steps: Record<string, string> = { TRIGGER: whole.steps[0].id };
  for (const step of plan.steps) {
    const made = await call('POST', `${path}/steps`, { config: {}, ...step, autoConnect: false });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    steps[step.name] = made.body.id;
  }
  for (const [from, to, branch] of plan.ways ?? inLine(plan.steps)) {
    const made = await call('POST', `${path}/transitions`, {
      fromStepId: steps[from],
      toStepId: steps[to],
      ...(branch ? { branch } : {}),
    });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }
  const { exitRules = [] } = plan;
  const enabled = await call('PATCH', path, { enabled: true, exitRules });
  if (enabled.status !== 200) throw new Error(JSON.stringify(enabled.body));
  return { id: workflow.id, steps };
}

/** Creates a contact. Returns its id. */
export async function createContact(engine: Engine, email: string, more: object = {}) {
  const { body } = await engine.call('POST', '/contacts', { email, ...more });
  return body.id as string;
}

/** Starts an execution manually. Returns its id. */
export async function startByHand(
  engine: Engine,
  workflowId: string,
  contactId: string,
  context: object = {},
): Promise<string> {
  const made = await engine.call('POST', `/workflows/${workflowId}/executions`, {
    contactId,
    context,
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body.id as string;
}

/** Returns the execution, once it has the status. */
export async function executionIn(
  engine: Engine,
  workflowId: string,
  executionId: string,
  status: string,
  timeoutMs?: number,
) {
  const ask = async () => {
    const { body } = await engine.call('GET', `/workflows/${workflowId}/executions/${executionId}`);
    return body.status === status ? body : null;
  };
  return waitFor(`execution ${executionId} ${status}`, ask, timeoutMs);
}

/** An execution to start: its workflow, and the data of its contact and its context. */
export interface ExecutionPlan extends WorkflowPlan {
  contact?: object;
  context?: object;
}

/** Creates a workflow, and starts it manually for a new contact. */
export async function beginExecution(engine: Engine, { contact, context, ...plan }: ExecutionPlan) {
  const workflow = await createWorkflow(engine, { eventName: randomUUID(), ...plan });
  const email = newAddress();
  const contactId = await createContact(engine, email, contact);
  const id = await startByHand(engine, workflow.id, contactId, context);
  return {
    workflow,
    email,
    contactId,
    id,
    path: `/workflows/${workflow.id}/executions/${id}`,
    /** Returns the execution, once it has the status. */
    until: (status: string, timeoutMs?: number) =>
      executionIn(engine, workflow.id, id, status, timeoutMs),
  };
}
