import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useReceiver } from '../../support/fakes/receiver.ts';
import {
  createContact,
  createTemplate,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { waitFor } from '../../support/wait-for.ts';

/**
 * A template that only the version of a failed execution names, deleted while the execution is
 * retried.
 */

const engine = await useEngine();
const receiver = await useReceiver();
const gone =
  'The template of this step no longer exists. Choose another one, then retry the execution.';
let count = 0;

async function failed() {
  const templateId = await createTemplate(engine);
  const path = `/${(count += 1)}`;
  receiver.answer(path, { status: 400 });
  const { id: workflowId, steps } = await createWorkflow(engine, {
    steps: [
      {
        type: 'WEBHOOK',
        name: 'Call',
        config: { url: `${receiver.url}${path}`, onFailure: 'fail' },
      },
      { type: 'SEND_EMAIL', name: 'Mail', templateId },
    ],
  });
  const contactId = await createContact(engine, newAddress());
  const id = await startByHand(engine, workflowId, contactId);
  const { workflowVersion } = await executionIn(engine, workflowId, id, 'FAILED');
  const edited = await engine.call('DELETE', `/workflows/${workflowId}/steps/${steps['Mail']}`);
  expect(edited.status).toBe(204);
  receiver.answer(path, { status: 200 });
  const execution = `/workflows/${workflowId}/executions/${id}`;
  return {
    retry: () => engine.call('POST', `${execution}/retry`, { version: workflowVersion }),
    remove: () => engine.call('DELETE', `/templates/${templateId}`),
    ended: () =>
      waitFor('the end', async () => {
        const { body } = await engine.call('GET', execution);
        return body.completedAt !== null && body;
      }),
  };
}

it('is refused with what is missing when the template was deleted before', async () => {
  const { retry, remove } = await failed();
  expect((await remove()).status).toBe(204);
  const refused = await retry();
  expect([refused.status, refused.body.error.code]).toEqual([422, 'WORKFLOW_INVALID']);
});

it('keeps the template, or says why, when both come at once', { timeout: 120_000 }, async () => {
  for (let round = 0; round < 6; round += 1) {
    const { retry, remove, ended } = await failed();
    const [retried, removed] = await Promise.all([retry(), remove()]);
    if (retried.status === 422) {
      expect(removed.status).toBe(204);
      continue;
    }
    expect(retried.status).toBe(200);
    const { status, error } = await ended();
    if (removed.status === 409) expect([status, error]).toEqual(['COMPLETED', null]);
    else if (status === 'FAILED') expect(error).toContain(gone);
    else expect([removed.status, status]).toEqual([204, 'COMPLETED']);
  }
});
