import { recordContact } from '../db/contacts.ts';
import type { Database } from '../db/database.ts';
import type { Due } from '../db/events.ts';
import type { StepVisit } from '../db/step-executions.ts';
import { planContactData } from '../domain/contact-data.ts';
import { Problem } from '../domain/errors.ts';
import type { GraphStep } from '../domain/graph.ts';
import { compileTemplate, renderText, type RenderScope } from '../domain/render.ts';
import type { StepConfig } from '../domain/steps.ts';
import { StepFailure } from './perform.ts';
import { stepScope } from './scope.ts';

const subscribedAfter = { none: undefined, subscribe: true, unsubscribe: false } as const;

/**
 * Writes a step's updates into the contact, by the same rules as every other write.
 * @throws StepFailure when the contact would break a limit.
 */
export async function updateContactOfStep(
  tx: Database,
  apiUrl: string,
  step: GraphStep,
  { execution, stepExecution }: StepVisit,
): Promise<{ output: Record<string, unknown>; due: Due }> {
  const { updates = {}, subscriptionAction = 'none' } = step.config as StepConfig<'UPDATE_CONTACT'>;
  const { contact, scope } = await stepScope(tx, apiUrl, execution, stepExecution.id);
  const rendered = Object.fromEntries(
    Object.entries(updates).map(([key, value]) => [key, renderedValue(value, scope)]),
  );
  try {
    const written = await recordContact(tx, execution.project_id, {
      email: contact.email,
      subscribed: subscribedAfter[subscriptionAction],
      subscribedWhenNew: contact.subscribed,
      data: planContactData(rendered),
      source: 'workflow',
    });
    return {
      output: {
        updated: true,
        updates: rendered,
        newData: written.contact.data,
        subscriptionAction,
        subscribed: written.contact.subscribed,
      },
      due: written.due,
    };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new StepFailure(error.errors?.[0]?.message ?? error.message);
  }
}

function renderedValue(value: unknown, scope: RenderScope): unknown {
  return typeof value === 'string' ? renderText(compileTemplate(value), scope) : value;
}
