import { sql } from 'kysely';
import { noEvidence } from '../../db/consent/log.ts';
import { recordContact } from '../../db/transactions/contacts/record-contact.ts';
import type { Database } from '../../db/database.ts';
import { rereadExitPending, type StepVisit } from '../../db/workflows/executions/steps.ts';
import { planContactData } from '../../domain/contact/data.ts';
import { Problem } from '../../domain/errors.ts';
import type { GraphStep } from '../../domain/workflow/graph.ts';
import type { Renderer } from '../../domain/template/render.ts';
import { renderedUpdates, subscribedAfter } from '../../domain/workflow/steps/update-contact.ts';
import { StepFailure } from '../../domain/workflow/steps/step.ts';
import type { StepConfig } from '../../domain/workflow/steps/registry.ts';
import { stepVariables } from './variables.ts';

/**
 * Applies a step's updates to the contact, by the same rules as every other write. Returns the
 * step's output, and the visit as it is then: the event of a changed subscription may have met an exit
 * rule.
 * @throws StepFailure when the contact would exceed a limit.
 */
export async function updateContactOfStep(
  tx: Database,
  { apiUrl, renderer }: { apiUrl: string; renderer: Renderer },
  step: GraphStep,
  visit: StepVisit,
): Promise<{ output: Record<string, unknown>; visit: StepVisit }> {
  const { execution, stepExecution } = visit;
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
      origin: { ...noEvidence, source: 'workflow' },
      executionId: execution.id,
    });
    const output = {
      updated: true,
      updates: rendered,
      newData: after.data,
      subscriptionAction,
      subscribed: after.subscribed,
    };
    const isEvent = after.subscribed !== contact.subscribed;
    return { output, visit: isEvent ? await rereadExitPending(tx, visit) : visit };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await sql`rollback to savepoint update_contact`.execute(tx);
    throw new StepFailure(error.errors?.[0]?.message ?? error.message);
  }
}
