import { sql } from 'kysely';
import { recordContact } from '../../db/contacts/contacts.ts';
import type { Database } from '../../db/database.ts';
import type { StepVisit } from '../../db/workflows/steps.ts';
import { persistentWrapper, planContactData } from '../../domain/contact/data.ts';
import { Problem } from '../../domain/errors.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import type { Renderer, TemplateVariables } from '../../domain/template/render.ts';
import type { StepConfig } from '../../domain/workflow/steps.ts';
import { StepFailure } from './perform.ts';
import { stepVariables } from './variables.ts';

const subscribedAfter = { none: undefined, subscribe: true, unsubscribe: false } as const;

/**
 * Applies a step's updates to the contact, by the same rules as every other write. Returns the
 * step's output.
 * @throws StepFailure when the contact would exceed a limit.
 */
export async function updateContactOfStep(
  tx: Database,
  { apiUrl, renderer }: { apiUrl: string; renderer: Renderer },
  step: GraphStep,
  { execution, stepExecution }: StepVisit,
): Promise<Record<string, unknown>> {
  const { updates = {}, subscriptionAction = 'none' } = step.config as StepConfig<'UPDATE_CONTACT'>;
  const { contact, variables } = await stepVariables(tx, apiUrl, execution, stepExecution.id);
  const rendered = await renderedUpdates(updates, variables, renderer);
  await sql`savepoint update_contact`.execute(tx);
  try {
    const { contact: after } = await recordContact(tx, execution.project_id, {
      email: contact.email,
      subscribed: subscribedAfter[subscriptionAction],
      subscribedWhenNew: contact.subscribed,
      data: planContactData(rendered),
      source: 'workflow',
      executionId: execution.id,
    });
    return {
      updated: true,
      updates: rendered,
      newData: after.data,
      subscriptionAction,
      subscribed: after.subscribed,
    };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await sql`rollback to savepoint update_contact`.execute(tx);
    throw new StepFailure(error.errors?.[0]?.message ?? error.message);
  }
}

/** The updates with every text value rendered, also in `{value, persistent}`. */
async function renderedUpdates(
  updates: Record<string, unknown>,
  variables: TemplateVariables,
  renderer: Renderer,
): Promise<Record<string, unknown>> {
  const sources = Object.entries(updates).flatMap(([key, raw]) => {
    const wrapper = persistentWrapper(raw);
    const source = wrapper ? wrapper.value : raw;
    return typeof source === 'string' ? [{ key, source, wrapper }] : [];
  });
  const texts = await renderer.renderTexts(
    sources.map(({ source }) => source),
    variables,
  );
  const rendered = sources.map(({ key, wrapper }, index) => {
    const value = texts[index];
    return [key, wrapper ? { ...wrapper, value } : value] as const;
  });
  return { ...updates, ...Object.fromEntries(rendered) };
}
