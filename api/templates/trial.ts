import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { limits } from '../../domain/limits.ts';
import { sendTest } from '../emails/test-mail.ts';
import { endpoint } from '../http/endpoint.ts';
import { Email, senderColumns, SenderName, SenderText, Subject } from '../http/schemas.ts';
import { TemplateType } from './input.ts';
import { contactOf, hasOneReader, readerFields, renderFor, twoReaders } from './rendering.ts';

export const testTemplate = endpoint({
  id: 'testTemplate',
  method: 'POST',
  path: '/templates/test',
  summary: 'Send a template that is not saved to one address, as a test',
  description:
    'The mail is rendered like the preview, and has `[TEST]` before its subject. It is not ' +
    'recorded, and its opt-out links have no effect. TEST_RECIPIENT_NOT_ALLOWED: on a server that ' +
    'sends real mail, tests go only to members of the project. DOMAIN_NOT_REGISTERED, ' +
    'DOMAIN_NOT_VERIFIED: the sender needs a verified domain of the project. CONTACT_NOT_FOUND: ' +
    'the project has no contact `contactId`.',
  access: 'secret',
  bodyBytesMax: limits.contentBodyBytes,
  body: z
    .object({
      email: Email,
      subject: Subject,
      body: z.string().min(1),
      type: TemplateType.default('TRANSACTIONAL'),
      from: SenderText,
      fromName: SenderName.nullish(),
      replyTo: Email.nullish(),
      ...readerFields,
    })
    .refine(hasOneReader, twoReaders),
  response: z.object({ success: z.literal(true), message: z.string() }),
  problems: [
    'CONTACT_NOT_FOUND',
    'TEST_RECIPIENT_NOT_ALLOWED',
    'DOMAIN_NOT_REGISTERED',
    'DOMAIN_NOT_VERIFIED',
  ],
  example: {
    body: {
      email: 'you@shop.example',
      subject: 'Hi {{name ?? there}}',
      body: '<p>Welcome!</p>',
      from: 'team@shop.example',
      contact: { email: 'ada@shop.example', data: { name: 'Ada' } },
    },
    response: { success: true, message: 'A test is on its way to you@shop.example.' },
  },
  async handle(call) {
    const { db, caller, body } = call;
    const { email, from, fromName, replyTo = null, data, ...given } = body;
    const contact = await contactOf(db, caller.projectId, given);
    const { subject, html } = await renderFor(call, caller.projectId, body, {
      // The contact gets a new id, because otherwise the links of the test would unsubscribe the
      // real contact.
      contact: { ...contact, id: randomUUID() },
      data,
    });
    const sender = senderColumns(from, fromName);
    return sendTest(call, email, {
      message_class: body.type,
      topic_id: null,
      from_email: sender.fromEmail,
      from_name: sender.fromName ?? null,
      reply_to: replyTo,
      subject,
      html,
    });
  },
});
