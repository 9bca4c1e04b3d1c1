import { limits } from '../../domain/limits.ts';
import { type Call, endpoint } from '../http/endpoint.ts';
import { refuseLargeFiles, SendBody } from './send-schema.ts';
import { type MessageKey, SentMessage, sendMessage, sendProblems } from './send-message.ts';
import { checkBesideMessage } from './prepared-mail.ts';

export const send = endpoint({
  id: 'send',
  method: 'POST',
  path: '/v1/send',
  summary: 'Send a mail now or at a time, to one or several recipients',
  description:
    'Each recipient becomes a contact (a new one is unsubscribed) and gets a separate ' +
    'message. It is stored before the response and delivered after it; GET /emails/{id} ' +
    'shows its outcome. The server limits attachments, by default to 10 files of 10 MB ' +
    'together, and a rendered body to 2 MB. If one of several recipients fails, ' +
    '`details.emails` lists the mails accepted before. CONTACT_UNSUBSCRIBED: the template is ' +
    'MARKETING and the contact is not subscribed. `scheduledFor` is a date-time with an ' +
    'offset, or milliseconds since 1970, up to 730 days ahead: the mail is rendered now and ' +
    'sent then. `warnings`: the template could not be rendered, so only `{{key}}` and `{{key ' +
    '?? text}}` were replaced.',
  access: 'secret',
  bodyBytesMax: limits.sendBodyBytes,
  wrapped: true,
  body: SendBody,
  response: SentMessage,
  problems: sendProblems,
  example: {
    body: {
      to: 'ada@shop.example',
      from: { name: 'The Shop', email: 'team@shop.example' },
      subject: 'Hi {{name ?? there}}',
      body: '<p>Your order is on its way.</p>',
    },
    response: {
      emails: [
        {
          contact: { id: '5b0f6d58-2f0e-4a65-9a55-0d7a5a0c1c11', email: 'ada@shop.example' },
          email: 'c4b6d7c2-93cf-4e0a-8b1b-0a6f1f5f3e21',
        },
      ],
      timestamp: '2026-11-21T08:30:00.000Z',
    },
  },
  check: async (call) => refuseLargeFiles(call.body.attachments, call.config),
  checkBeside: (call) => checkBesideMessage(call, call.body),
  handle: (call) => sendMessage(call, call.body, wholeKey(call.keyUse)),
});

/**
 * Returns the idempotency key of a request with one message. The last mail of the message stores
 * the response.
 */
function wholeKey(keyUse: Call<'secret', unknown, unknown, SendBody>['keyUse']): MessageKey | null {
  return (
    keyUse && {
      accepted: keyUse.accepted,
      emailId: keyUse.emailId,
      record: (tx, email, answer) =>
        answer ? keyUse.completeIn(tx, answer) : keyUse.recordAccepted(tx, email),
    }
  );
}
