import { describe, expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { createContact } from '../../support/histories/executions.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { endOfJob, importFile } from '../../support/projects/upload.ts';

const engine = await useEngine();

interface Contact {
  id: string;
  email: string;
}

/** The ways to change a subscription; each waits until it is done. */
const ways: [string, (contact: Contact, subscribed: boolean) => Promise<unknown>][] = [
  ['a bulk action on ids', async ({ id }, subscribed) => bulk(subscribed, { contactIds: [id] })],
  [
    'a bulk action by query',
    async ({ email }, subscribed) => bulk(subscribed, { mode: 'query', filter: { search: email } }),
  ],
  [
    'an import',
    async ({ email }, subscribed) =>
      endOfJob(engine, await importFile(engine, `email,subscribed\n${email},${subscribed}\n`)),
  ],
  [
    'the public page',
    async ({ id }, subscribed) =>
      engine.api.request(
        'POST',
        `/contacts/public/${id}/${subscribed ? 'subscribe' : 'unsubscribe'}`,
      ),
  ],
];

async function bulk(subscribed: boolean, body: object) {
  const operation = subscribed ? 'subscribe' : 'unsubscribe';
  const answer = await engine.call('POST', `/contacts/bulk-${operation}`, body);
  return endOfJob(engine, answer.body.jobId);
}

describe.each(ways)('%s', (_, change) => {
  it.each([false, true])(
    'that makes subscribed %s moves updatedAt, and one that changes nothing does not',
    async (subscribed) => {
      const email = newAddress();
      const id = await createContact(engine, email, { subscribed: !subscribed });
      const read = async () => (await engine.call('GET', `/contacts/${id}`)).body;
      const before = await read();
      await change({ id, email }, subscribed);
      const after = await read();
      expect([before.subscribed, after.subscribed]).toEqual([!subscribed, subscribed]);
      expect(Date.parse(after.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
      expect(after.createdAt).toBe(before.createdAt);
      await change({ id, email }, subscribed);
      expect(await read()).toEqual(after);
    },
  );
});
