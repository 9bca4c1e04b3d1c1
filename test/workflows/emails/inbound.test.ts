import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { useEngine } from '../../support/engine.ts';
import { useFakeSns } from '../../support/fakes/sns.ts';
import { createTemplate, createWorkflow } from '../../support/histories/executions.ts';
import { sesReceipt } from '../../support/fakes/ses-messages.ts';

const [engine, fake] = [await useEngine(), await useFakeSns()];
engine.api.services.feedbackReaders = fake.feedbackReaders;

it('mail that arrives makes its sender a contact and starts a workflow, which answers it', async () => {
  const templateId = await createTemplate(engine, { subject: 'Re: {{event.subject}}' });
  await createWorkflow(engine, {
    eventName: 'email.received',
    steps: [{ type: 'SEND_EMAIL', name: 'Answer', templateId }],
  });
  const sender = `${randomUUID()}@people.test`;
  const receipt = sesReceipt({
    messageId: randomUUID(),
    from: `Ada Love <${sender}>`,
    recipients: [`hi@${engine.domain}`],
    subject: 'Hello',
  });
  const body = fake.notification(receipt);
  expect((await engine.api.request('POST', '/webhooks/sns', { body })).status).toBe(200);

  expect(await engine.mailsTo(sender, 1)).toMatchObject([{ subject: 'Re: Hello' }]);
  const { body: contacts } = await engine.call('GET', `/contacts?search=${sender}`);
  expect(contacts.data).toMatchObject([{ email: sender, subscribed: true }]);
  const { body: emails } = await engine.call('GET', `/emails?contactId=${contacts.data[0].id}`);
  const sources = emails.data.map((email: Record<string, string>) => email['sourceType']);
  expect(sources).toEqual(['WORKFLOW', 'INBOUND']);
  expect(emails.data[1]).toMatchObject({ status: 'RECEIVED', from: `hi@${engine.domain}` });
});
