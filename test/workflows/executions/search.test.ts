import { describe, expect, it } from 'vitest';
import { useReceiver } from '../../support/fakes/receiver.ts';
import { useEngine } from '../../support/engine.ts';
import {
  createContact,
  createWorkflow,
  executionIn,
  startByHand,
} from '../../support/histories/executions.ts';
import { newAddress, refusal } from '../../support/projects/shop.ts';

const receiver = await useReceiver();
const engine = await useEngine({ WEBHOOK_ALLOW_PRIVATE: 'true' });

const search = async (query: string, expected = 200) => {
  const { status, body } = await engine.call('GET', `/executions${query}`);
  expect([status, query]).toEqual([expected, query]);
  return body;
};
const idsOf = async (query: string) =>
  (await search(query)).data.map(({ id }: { id: string }) => id);

/** Creates a workflow of one webhook, with executions that have ended. */
async function called(answer: number, contacts: readonly string[], onFailure: string) {
  const path = `/${answer}-${onFailure}`;
  receiver.answer(path, ...contacts.map(() => ({ status: answer })));
  const workflow = await createWorkflow(engine, {
    eventName: path,
    steps: [{ type: 'WEBHOOK', name: 'Call', config: { url: receiver.url + path, onFailure } }],
  });
  const ids: string[] = [];
  for (const contactId of contacts) ids.push(await startByHand(engine, workflow.id, contactId));
  const status = answer >= 400 && onFailure === 'fail' ? 'FAILED' : 'COMPLETED';
  for (const id of ids) await executionIn(engine, workflow.id, id, status);
  return { ...workflow, ids };
}

const addresses = Array.from({ length: 3 }, newAddress);
const contacts: string[] = [];
for (const email of addresses) contacts.push(await createContact(engine, email));
const gone = await called(404, contacts, 'fail');
const forbidden = await called(403, contacts.slice(0, 2), 'fail');
const loose = await called(410, contacts, 'continue');
const failed = [...gone.ids, ...forbidden.ids];

describe('GET /executions', () => {
  it('lists the failures of all workflows, newest start first, with the step that failed', async () => {
    const { data, total, hasMore } = await search('?status=FAILED');
    expect(data.map(({ id }: { id: string }) => id)).toEqual(failed.toReversed());
    expect([total, hasMore]).toEqual([5, false]);
    const step = { id: forbidden.steps['Call'], name: 'Call', type: 'WEBHOOK' };
    expect(data[0]).toMatchObject({
      workflow: { id: forbidden.id, name: 'Journey' },
      contact: { id: contacts[1], email: addresses[1] },
      currentStep: step,
      failedStep: step,
      warnings: 0,
      stuck: null,
    });
    expect((await search('')).total).toBe(8);
    expect((await search(`?workflowId=${loose.id}`)).data[0].failedStep).toBeNull();
  });

  it('finds those of a contact, by its address in any case or its id', async () => {
    const own = [loose.ids[2], gone.ids[2]];
    const email = encodeURIComponent(` ${addresses[2]!.toUpperCase()} `);
    expect(await idsOf(`?email=${email}`)).toEqual(own);
    expect(await idsOf(`?contactId=${contacts[2]}`)).toEqual(own);
    expect(await idsOf(`?contactId=${contacts[2]}&workflowId=${gone.id}`)).toEqual([gone.ids[2]]);
    expect(await idsOf(`?contactId=${contacts[2]}&status=FAILED,EXITED`)).toEqual([gone.ids[2]]);
    expect(await idsOf(`?contactId=${contacts[2]}&email=${addresses[1]}`)).toEqual([]);
    const other = await engine.api.createProject((await engine.api.signUp()).cookie);
    const made = await engine.api.request('POST', '/contacts', {
      key: other.secretKey,
      body: { email: newAddress() },
    });
    for (const filter of ['contactId', 'workflowId', 'stepId']) {
      expect(await search(`?${filter}=${made.body.id}`)).toEqual({
        data: [],
        hasMore: false,
        total: 0,
      });
    }
    const foreign = await engine.api.request('GET', '/executions', { key: other.secretKey });
    expect(foreign.body.total).toBe(0);
  });

  it('finds a part of the error, a step, a version and a time', async () => {
    expect(await idsOf('?error=404')).toEqual(gone.ids.toReversed());
    expect(await idsOf('?error=404&status=COMPLETED')).toEqual([]);
    expect(await idsOf(`?stepId=${forbidden.steps['Call']}`)).toEqual(forbidden.ids.toReversed());
    const { data } = await search(`?workflowId=${gone.id}`);
    expect(await idsOf(`?workflowId=${gone.id}&version=${data[0].workflowVersion}`)).toHaveLength(
      3,
    );
    expect(await idsOf('?version=1000')).toEqual([]);
    const { completedAt } = data[0];
    const later = await idsOf(`?endedAfter=${completedAt}&workflowId=${gone.id}`);
    expect(later).not.toContain(data[0].id);
    const { startedAt } = (await search(`?contactId=${contacts[0]}&workflowId=${loose.id}`))
      .data[0];
    expect(await idsOf(`?startedBefore=${startedAt}`)).toEqual(failed.toReversed());
    expect(await idsOf(`?startedAfter=${startedAt}`)).toEqual(loose.ids.toReversed());
    expect((await search(`?endedBefore=${startedAt}&status=FAILED`)).total).toBe(5);
  });

  it('counts steps that completed without success, in lists and in the record', async () => {
    expect(await idsOf('?warnings=true')).toEqual(loose.ids.toReversed());
    expect(await idsOf('?warnings=true&status=FAILED')).toEqual([]);
    const { body } = await engine.call('GET', `/workflows/${loose.id}/executions/${loose.ids[0]}`);
    expect([body.status, body.warnings]).toEqual(['COMPLETED', 1]);
    const { body: list } = await engine.call('GET', `/workflows/${loose.id}/executions`);
    expect(list.executions.map((row: { warnings: number }) => row.warnings)).toEqual([1, 1, 1]);
  });

  it('shows every execution once, page by page, also those of one moment', async () => {
    const { db } = engine.api;
    await db
      .updateTable('execution')
      .set({ started_at: '2026-01-01T00:00:00.000001Z' })
      .where('workflow_id', '=', loose.id)
      .execute();
    const all = await idsOf('');
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await search(`?limit=1${cursor}`);
      expect(page.total).toBe(cursor === '' ? 8 : 0);
      seen.push(...page.data.map(({ id }: { id: string }) => id));
      if (!page.hasMore) break;
      cursor = `&cursor=${page.cursor}`;
    }
    expect(seen).toEqual(all);
    expect(new Set(seen).size).toBe(8);
  });

  it('lists those that are paused or stuck', async () => {
    const { id } = await createWorkflow(engine, {
      eventName: 'waiting',
      steps: [{ type: 'WAIT_FOR_EVENT', name: 'Wait', config: { eventName: 'never' } }],
    });
    const execution = await startByHand(engine, id, contacts[0]!);
    await executionIn(engine, id, execution, 'WAITING');
    expect(await idsOf('?status=RUNNING,WAITING')).toEqual([execution]);
    expect(await idsOf('?paused=true')).toEqual([]);
    await engine.call('POST', `/workflows/${id}/executions/${execution}/pause`);
    expect(await idsOf('?paused=true')).toEqual([execution]);
    expect(await idsOf('?paused=false&status=WAITING')).toEqual([]);
    expect(await idsOf('?stuck=true')).toEqual([]);
    const stuck = { stuck_since: new Date(), stuck_reason: 'No worker is running.' };
    await engine.api.db.updateTable('execution').set(stuck).where('id', '=', execution).execute();
    const { data } = await search('?stuck=true');
    expect(data).toMatchObject([{ id: execution, stuck: { reason: 'No worker is running.' } }]);
    await engine.call('DELETE', `/workflows/${id}/executions/${execution}`);
    expect(await idsOf('?stuck=true')).toEqual([]);
  });

  it.each([
    ['status=FOO', 'status', 'invalid_enum_value'],
    ['status=', 'status', 'invalid_enum_value'],
    ['contactId=me', 'contactId', 'invalid_string'],
    ['email=nobody', 'email', 'invalid_string'],
    ['version=one', 'version', 'invalid_type'],
    ['paused=maybe', 'paused', 'invalid_enum_value'],
    ['warnings=false', 'warnings', 'invalid_enum_value'],
    ['stuck=1', 'stuck', 'invalid_enum_value'],
    ['startedAfter=soon', 'startedAfter', 'invalid_date'],
    ['error=', 'error', 'too_small'],
    ['cursor=zz', 'cursor', 'invalid_string'],
  ])('refuses ?%s with 422', async (query, field, code) => {
    const answer = await engine.call('GET', `/executions?${query}`);
    expect(refusal(answer)).toEqual([422, 'VALIDATION_ERROR', `${field} ${code}`]);
  });
});
