import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { bySecretKey } from '../../support/actors.ts';
import { useApi } from '../../support/api.ts';
import { useEngine } from '../../support/engine.ts';
import { createTemplate, createWorkflow } from '../../support/histories/executions.ts';
import { campaignIn, createCampaign } from '../../support/projects/campaigns.ts';
import { insertNamedKey } from '../../support/projects/named-keys.ts';
import { newAddress } from '../../support/projects/shop.ts';
import { recordStatements } from '../../support/statements.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Who caused mail, executions, campaigns and jobs. */

const engine = await useEngine();
const { api, project } = engine;
const person = await api.signUp();
await api.db
  .insertInto('membership')
  .values({ project_id: project.id, user_id: person.userId, role: 'ADMIN' })
  .execute();
const named = await insertNamedKey(api.db, project.id, { name: 'Shop backend' });
const byNamed = { type: 'key', id: named.id, name: 'Shop backend' };
const byPublic = { type: 'key', id: 'public', name: 'Public key' };

const withKey = (key: string, method: string, path: string, body?: object) =>
  api.request(method, path, { key, body });
const byPerson = (method: string, path: string, body?: object) =>
  api.request(method, path, {
    cookie: person.cookie,
    body,
    headers: { 'X-Project-Id': project.id },
  });

const exit = [{ type: 'EXIT', name: 'Out', config: {} }];

const message = () => ({
  to: newAddress(),
  from: `team@${engine.domain}`,
  subject: 'Hi',
  body: '<p>Hi</p>',
});

async function memoOf(runId: string) {
  const handle = engine.temporal.client.workflow.getHandle(runId);
  const run = await waitFor(`run ${runId}`, () => handle.describe().catch(() => null));
  return run.memo?.['causedBy'];
}

/** Returns the executions of a workflow, once there is one. */
async function executionOf(workflowId: string) {
  return waitFor(`an execution of ${workflowId}`, async () => {
    const { body } = await engine.call('GET', `/workflows/${workflowId}/executions`);
    return body.executions[0] ?? null;
  });
}

const mailOf = async (query: string) =>
  waitFor(`mail with ${query}`, async () => {
    const { body } = await engine.call('GET', `/emails?${query}`);
    return body.data[0] ?? null;
  });

it('mail of /v1/send names the key that sent it, also in its trace', async () => {
  const sent = await withKey(named.key, 'POST', '/v1/send', message());
  const { body } = await engine.call('GET', `/emails/${sent.body.data.emails[0].email}`);
  expect(body.causedBy).toEqual(byNamed);
  expect(body.trace[0]).toMatchObject({ state: 'queued', detail: { causedBy: byNamed } });
  const other = await engine.call('POST', '/v1/send', message());
  const email = await engine.call('GET', `/emails/${other.body.data.emails[0].email}`);
  expect(email.body.causedBy).toEqual(bySecretKey);
});

it('a campaign names who created it and who sent it, and its mail the sender', async () => {
  const contact = await engine.call('POST', '/contacts', { email: newAddress(), subscribed: true });
  const given = { call: byPersonAsCall, domain: engine.domain };
  const id = await createCampaign(given);
  const draft = await engine.call('GET', `/campaigns/${id}`);
  const creator = { type: 'user', id: person.userId, name: person.email };
  expect(draft.body.data).toMatchObject({ createdBy: creator, sentBy: null });
  await withKey(named.key, 'POST', `/campaigns/${id}/send`, {});
  expect(await campaignIn(engine, id, 'SENT')).toMatchObject({
    createdBy: creator,
    sentBy: byNamed,
  });
  const mail = await mailOf(`campaignId=${id}&contactId=${contact.body.id}`);
  expect(mail.causedBy).toEqual(byNamed);
  expect(await memoOf(`campaign-${id}`)).toBe(`key:${named.id}`);
});

const byPersonAsCall: typeof engine.call = (method, path, body) =>
  byPerson(method, path, body as object);

it('an execution names the key that recorded its event, and so do chains and mail', async () => {
  const eventName = randomUUID();
  const templateId = await createTemplate(engine);
  const steps = [{ type: 'SEND_EMAIL', name: 'Mail', templateId }];
  const { id: first } = await createWorkflow(engine, { eventName, steps });
  const { id: second } = await createWorkflow(engine, { eventName: 'email.sent', steps: exit });
  const event = { email: newAddress(), event: eventName };
  await withKey(project.publicKey, 'POST', '/v1/track', event);
  const execution = await executionOf(first);
  expect(execution.causedBy).toEqual(byPublic);
  const path = `/workflows/${first}/executions/${execution.id}`;
  const { body: history } = await engine.call('GET', `${path}/history`);
  expect(history.entries[0].causedBy).toEqual(byPublic);
  expect(history.entries[1].causedBy).toBeUndefined();
  expect(await memoOf(`execution-${execution.id}`)).toBe('key:public');
  expect((await mailOf(`executionId=${execution.id}`)).causedBy).toEqual(byPublic);
  expect((await executionOf(second)).causedBy).toEqual(byPublic);
});

it('an execution started by hand names the person', async () => {
  const { id } = await createWorkflow(engine, { eventName: randomUUID(), steps: exit });
  const { body: contact } = await engine.call('POST', '/contacts', { email: newAddress() });
  const started = await byPerson('POST', `/workflows/${id}/executions`, { contactId: contact.id });
  const actor = { type: 'user', id: person.userId, name: person.email };
  expect(started.body.causedBy).toEqual(actor);
  expect(await memoOf(`execution-${started.body.id}`)).toBe(`user:${person.userId}`);
});

it('an execution started by a report or an opt-out link names its cause', async () => {
  const { id } = await createWorkflow(engine, { eventName: 'email.delivery', steps: exit });
  await engine.call('POST', '/v1/send', message());
  const actor = { type: 'system', id: null, name: 'feedback' };
  expect((await executionOf(id)).causedBy).toEqual(actor);
  const { id: left } = await createWorkflow(engine, {
    eventName: 'contact.unsubscribed',
    steps: exit,
  });
  const { body: contact } = await engine.call('POST', '/contacts', {
    email: newAddress(),
    subscribed: true,
  });
  await api.request('POST', `/contacts/public/${contact.id}/unsubscribe`, { body: {} });
  const execution = await executionOf(left);
  expect(execution.causedBy).toEqual({ type: 'contact', id: contact.id, name: null });
});

it('a job names who began it', async () => {
  const { body: contact } = await engine.call('POST', '/contacts', {
    email: newAddress(),
    subscribed: true,
  });
  const ids = [contact.id];
  const begun = await withKey(named.key, 'POST', '/contacts/bulk-unsubscribe', { contactIds: ids });
  const { jobId } = begun.body;
  const { body: job } = await engine.call('GET', `/contacts/bulk/${jobId}`);
  expect(job.causedBy).toEqual(byNamed);
  expect(await memoOf(jobId)).toBe(`key:${named.id}`);
  const log = await waitFor('the consent line', async () => {
    const { body } = await engine.call('GET', `/contacts/${contact.id}/consent`);
    return body.length > 1 ? body : null;
  });
  expect(log.at(-1).actor).toBe(named.id);
});

it('records from before name no one', async () => {
  const sent = await engine.call('POST', '/v1/send', message());
  const id = sent.body.data.emails[0].email;
  await api.db.updateTable('email').set({ caused_by: null }).where('id', '=', id).execute();
  const { body } = await engine.call('GET', `/emails/${id}`);
  expect([body.causedBy, body.trace[0].detail]).toEqual([null, null]);
});

it('needs no statement more in /v1/send and /v1/track', async () => {
  // Without a worker, whose statements would be recorded as well.
  const quiet = await useApi();
  const { secretKey: key } = await quiet.createProject((await quiet.signUp()).cookie);
  const textsOf = async (path: string, body: object) => {
    await quiet.request('POST', path, { key, body });
    const statements = recordStatements();
    expect((await quiet.request('POST', path, { key, body })).status).toBe(200);
    return statements.take().map(({ text }) => text);
  };
  await quiet.request('POST', '/domains', { key, body: { domain: engine.domain } });
  const track = { email: newAddress(), event: randomUUID() };
  for (const texts of [await textsOf('/v1/send', message()), await textsOf('/v1/track', track)]) {
    const isInsert = (text: string) => /^\s*(with|insert)/.test(text);
    const others = texts.filter((text) => !isInsert(text));
    expect(others.filter((text) => /caused_by|from app_user/.test(text))).toEqual([]);
  }
});
