import { transact } from '../../../db/database.ts';
import { enqueue } from '../../../db/outbox/outbox.ts';
import { runIds } from '../../../domain/runs/runs.ts';
import type { Engine } from '../engine.ts';
import { optInsOf } from '../projects/opt-ins.ts';
import { waitFor } from '../wait-for.ts';

/** The runs of opt-in requests whose histories are recorded. */
export const optInHistoryCases: Record<string, (engine: Engine) => Promise<string>> = {
  // The contact gets a mail and a reminder. Then the request expires.
  'opt-in-expired': async (engine) => {
    const { runId, email } = await beginOptIn(engine, { remindAfter: 1, expireAfter: 2 });
    const { contact } = optInsOf(engine);
    await waitFor('the end', async () => (await contact(email)).consent === 'expired');
    return runId;
  },
  // The link is opened while the run waits.
  'opt-in-confirmed': async (engine) => {
    const { runId, email } = await beginOptIn(engine, {});
    const { link, post } = optInsOf(engine);
    const path = await link(email);
    await waitFor('the run to wait', async () => {
      const handle = engine.temporal.client.workflow.getHandle(runId);
      const { events } = await handle.fetchHistory();
      return events?.some((event) => event.timerStartedEventAttributes);
    });
    await post(path);
    return runId;
  },
};

/**
 * Requests an opt-in for a contact. Returns the id of its run, and a function that signals the run.
 */
export async function beginOptIn(engine: Engine, policy: object) {
  const { call, api, project, domain } = engine;
  await call('PUT', '/consent-policy', { from: `team@${domain}`, ...policy });
  const email = await optInsOf(engine).asked();
  const { id: requestId } = await api.db
    .selectFrom('opt_in')
    .select('id')
    .where('email', '=', email)
    .executeTakeFirstOrThrow();
  const input = { projectId: project.id, requestId };
  const signal = () =>
    transact(api.db, (tx) =>
      enqueue(tx, { kind: 'optInRequest', input, summary: 'Opt-in request' }),
    );
  return { email, runId: runIds.optInRequest(input), signal };
}
