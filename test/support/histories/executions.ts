import type { Engine } from '../engine.ts';
import { waitFor } from '../wait-for.ts';

/** One step of a journey to be built; ways lead from it by branch to the named steps. */
export interface StepPlan {
  type: string;
  name: string;
  config?: Record<string, unknown>;
  templateId?: string;
}

/** A way between two named steps; TRIGGER is the first. */
export type WayPlan = [from: string, to: string, branch?: string];

/** Makes a template with a usable sender. Answers its id. */
export async function createTemplate(
  engine: Engine,
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

/** Builds and enables a workflow through the API. Answers its id and the ids of its steps. */
export async function createWorkflow(
  engine: Engine,
  plan: { eventName?: string; allowReentry?: boolean; steps: StepPlan[]; ways: WayPlan[] },
): Promise<{ id: string; steps: Record<string, string> }> {
  const { call } = engine;
  const { body: workflow } = await call('POST', '/workflows', {
    name: 'Journey',
    eventName: plan.eventName ?? 'started',
    allowReentry: plan.allowReentry ?? false,
  });
  const path = `/workflows/${workflow.id}`;
  const { body: whole } = await call('GET', path);
  const steps: Record<string, string> = { TRIGGER: whole.steps[0].id };
  for (const step of plan.steps) {
    const made = await call('POST', `${path}/steps`, { config: {}, ...step, autoConnect: false });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
    steps[step.name] = made.body.id;
  }
  for (const [from, to, branch] of plan.ways) {
    const made = await call('POST', `${path}/transitions`, {
      fromStepId: steps[from],
      toStepId: steps[to],
      ...(branch ? { branch } : {}),
    });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  }
  const enabled = await call('PATCH', path, { enabled: true });
  if (enabled.status !== 200) throw new Error(JSON.stringify(enabled.body));
  return { id: workflow.id, steps };
}

/** A new contact. Answers its id. */
export async function createContact(engine: Engine, email: string, more: object = {}) {
  const { body } = await engine.call('POST', '/contacts', { email, ...more });
  return body.id as string;
}

/** Starts an execution by hand. Answers its id. */
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

/** The execution, once it has the status. */
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
