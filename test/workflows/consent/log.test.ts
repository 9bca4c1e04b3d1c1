import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createWorkflow } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Lines of the consent log that are written after the response. */

const engine = await useEngine();
const { call } = engine;

const create = async (more: object = {}) =>
  (await call('POST', '/contacts', { email: newAddress(), ...more })).body.id as string;

type Line = { action: string; source: string; actor: string | null; ip: string | null };

/** Returns action, source and actor of each line. */
async function logOf(id: string): Promise<string[]> {
  const { body } = await call('GET', `/contacts/${id}/consent`);
  return body.map(({ action, source, actor }: Line) => `${action} ${source} ${actor}`);
}

async function idOf(email: string): Promise<string> {
  const { body } = await call('GET', `/contacts?email=${encodeURIComponent(email)}`);
  return body.data[0].id as string;
}

describe('the consent log', () => {
  it('has what bulk actions change, and who started them', async () => {
    const [on, off] = [await create(), await create({ subscribed: false })];
    const bulk = async (operation: string) => {
      const path = `/contacts/bulk-${operation}`;
      const { body } = await call('POST', path, { contactIds: [on, off] });
      await endOfJob(engine, body.jobId);
    };
    await bulk('subscribe');
    expect(await logOf(on)).toEqual(['granted api sk']);
    expect(await logOf(off)).toEqual(['granted bulk sk']);
    await bulk('unsubscribe');
    expect(await logOf(on)).toEqual(['granted api sk', 'withdrawn bulk sk']);
  });

  it('has what an import changes: contacts it makes, and those it only meets if they change', async () => {
    const [off, on, fresh, silent] = [newAddress(), newAddress(), newAddress(), newAddress()];
    await create({ email: off, subscribed: false });
    await create({ email: on });
    const rows = [`${off},yes`, `${on},no`, `${fresh},`, `${silent},no`, `${on},no`];
    await endOfJob(engine, await importFile(engine, `email,subscribed\n${rows.join('\n')}\n`));
    expect(await logOf(await idOf(off))).toEqual(['imported import sk']);
    expect(await logOf(await idOf(on))).toEqual(['granted api sk', 'withdrawn import sk']);
    expect(await logOf(await idOf(fresh))).toEqual(['imported import sk']);
    expect(await logOf(await idOf(silent))).toEqual([]);
  });

  it('has what a workflow changes', async () => {
    const eventName = randomUUID();
    await createWorkflow(engine, {
      eventName,
      steps: [
        {
          type: 'UPDATE_CONTACT',
          name: 'Leave',
          config: { updates: {}, subscriptionAction: 'unsubscribe' },
        },
      ],
    });
    const email = newAddress();
    await call('POST', '/v1/track', { email, event: eventName });
    const id = await idOf(email);
    await waitFor('the step', async () => (await logOf(id)).length === 2);
    expect(await logOf(id)).toEqual(['granted api sk', 'withdrawn workflow null']);
  });

  it.each(['bounce', 'complaint'])('has what a %s takes back, once', async (name) => {
    const email = `${name}+${randomUUID()}@simulator.test`;
    const mail = { to: email, subject: 'Hi', body: '<p>Hi</p>', from: `team@${engine.domain}` };
    await call('POST', '/v1/send', { ...mail, subscribed: true });
    const id = await idOf(email);
    await waitFor('the feedback', async () => (await logOf(id)).length === 2);
    expect(await logOf(id)).toEqual(['granted api sk', `withdrawn ${name} null`]);
  });
});
