import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { findReportedMessages } from '../../../../db/transactions/mail/reports.ts';
import { useApi } from '../../../support/api.ts';
import { insertTestEmail } from '../../../support/projects/mails.ts';

/** How the message of a report is found. */

const api = await useApi();
const { db } = api;
const { cookie } = await api.signUp();

let ids: { projectId: string; contactId: string };

beforeEach(async () => {
  const { id: projectId, secretKey: key } = await api.createProject(cookie);
  const body = { email: `${randomUUID()}@people.test` };
  const { body: contact } = await api.request('POST', '/contacts', { key, body });
  ids = { projectId, contactId: contact.id };
});

/** Returns the id of the message that a report names, if there is one. */
async function found(named: { emailId?: string; messageId?: string }) {
  const { emailId = null, messageId = null } = named;
  const about = { emailId, messageId, feedback: [], acceptedAt: null, receipt: null };
  const [report] = await findReportedMessages(db, [about]);
  return report?.emailId;
}

it('is found by our id, and by that of the provider', async () => {
  const messageId = `ses-${randomUUID()}`;
  const id = await insertTestEmail(db, ids, { message_id: messageId });
  expect(await found({ emailId: id })).toBe(id);
  expect(await found({ messageId })).toBe(id);
  expect(await found({ emailId: randomUUID(), messageId })).toBe(id);
  expect(await found({ messageId: 'another' })).toBeUndefined();
});

it('is found by an id that begins with ours, if it is its own', async () => {
  const id = randomUUID();
  await insertTestEmail(db, ids, { id, message_id: `${id}@smtp` });
  expect(await found({ messageId: `${id}@smtp` })).toBe(id);
  expect(await found({ messageId: `${id}@local` })).toBeUndefined();
  expect(await found({ messageId: `${randomUUID()}@smtp` })).toBeUndefined();
});
