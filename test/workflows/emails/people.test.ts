import { expect, it } from 'vitest';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { useEngine } from '../../support/engine.ts';
import { startApiProcess } from '../../support/processes/processes.ts';
import { engagementOf } from '../../support/projects/engagement.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { sweepNow } from '../../support/sweep-now.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Machines do not end a wait for a person. */

const engine = await useEngine();
const scanner = { agent: 'curl/8.5.0' };

async function withMail(from: { url: string } = engine.api) {
  const contactId = await createContact(engine, newAddress());
  const mail = engagementOf({ ...engine.api, url: from.url }, engine.project, contactId);
  return { contactId, ...mail, ...(await mail.sentMail()) };
}

it('a wait for a click by a person ignores a scanner, and ends within 12 seconds', async () => {
  const workflow = await createWorkflow(engine, {
    steps: [
      {
        type: 'WAIT_FOR_EVENT',
        name: 'Wait',
        config: { eventName: 'email.human_click', timeout: 3600 },
      },
      { type: 'EXIT', name: 'by event', config: { reason: 'by event' } },
      { type: 'EXIT', name: 'by time-out', config: { reason: 'by time-out' } },
    ],
    ways: [
      ['TRIGGER', 'Wait'],
      ['Wait', 'by event', 'event'],
      ['Wait', 'by time-out', 'timeout'],
    ],
  });
  const mail = await withMail();
  const execution = await startByHand(engine, workflow.id, mail.contactId);
  await executionIn(engine, workflow.id, execution, 'WAITING');
  await mail.click(scanner);
  await waitFor('the verdict on the scanner', async () => {
    const [first] = await mail.verdicts(mail.id);
    return first?.verdict === 'machine';
  });
  await executionIn(engine, workflow.id, execution, 'WAITING');
  const clickedAt = Date.now();
  await mail.click();
  const ended = await executionIn(engine, workflow.id, execution, 'EXITED');
  expect(ended.exitReason).toBe('by event');
  expect(Date.parse(ended.completedAt) - clickedAt).toBeLessThan(12_000);
  const { body } = await engine.call('GET', `/campaigns/${mail.campaignId}/stats`);
  expect(body.data).toMatchObject({
    clickedCount: 1,
    humanClickedCount: 1,
    machineClickedCount: 0,
  });
}, 60_000);

it('the sweep settles what a killed process has recorded', async () => {
  const other = await startApiProcess(engine);
  const mail = await withMail(other);
  expect((await mail.click()).status).toBe(302);
  await other.kill();
  await other.ended;
  expect(await mail.verdicts(mail.id)).toMatchObject([{ verdict: null }]);
  await waitFor('the verdict', async () => {
    await sweepNow(engine);
    const [first] = await mail.verdicts(mail.id);
    return first?.verdict === 'human';
  });
  expect((await mail.emailOf(mail.id)).human_clicked_at).not.toBeNull();
}, 60_000);
