import { z } from 'zod';
import { invalidField, whenRight, Refusals } from '../../domain/errors.ts';
import { limits } from '../../domain/limits.ts';
import { isHeaderName } from '../../domain/mail/headers.ts';
import {
  byKind,
  ContactData,
  Email,
  fault,
  ignoring,
  laterTime,
  named,
  SenderName,
  SenderText,
  Subject,
  Uuid,
  addFault,
} from '../http/schemas.ts';

/** The request of `/v1/send`. */

/** When the mail is sent; null: now. */
export const SendTime = laterTime({ daysMax: limits.scheduleDaysMax });

const MailAddress = named('MailAddress', { name: SenderName.nullish(), email: Email });

const Recipient = byKind({
  text: Email.transform((email) => ({ email, name: null })),
  object: MailAddress.transform(({ name, email }) => ({ email, name: name ?? null })),
});

const Recipients = byKind({
  text: Email.transform((email) => [{ email, name: null }]),
  object: Recipient.transform((recipient) => [recipient]),
  list: z.array(Recipient).max(limits.recipients),
});

/** If the sender is a text, the deprecated field `name` overrides the name in the text. */
const Sender = byKind({
  text: SenderText.transform((sender) => ({ ...sender, asText: true })),
  object: MailAddress.transform(({ name, email }) => ({
    email,
    name: name ?? null,
    asText: false,
  })),
});

const Headers = z
  .record(z.string(), z.string())
  .superRefine((headers, context) => {
    for (const [name, value] of Object.entries(headers)) {
      const wrong = !isHeaderName(name)
        ? 'The name of a header must be ASCII, without spaces and colons.'
        : /[\r\n]/.test(value)
          ? 'Must be one line, without line breaks.'
          : null;
      if (wrong) addFault(context, 'invalid_string', wrong, [name]);
      else if (name.length > limits.headerNameChars) {
        const message = `The name of a header must have at most ${limits.headerNameChars} characters, not ${name.length}.`;
        addFault(context, 'too_big', message, [name]);
      } else if (value.length > limits.headerValueChars) {
        const message = `Must have at most ${limits.headerValueChars} characters, not ${value.length}.`;
        addFault(context, 'too_big', message, [name]);
      }
    }
  })
  .meta({ type: 'object', additionalProperties: { type: 'string' } });

/** Standard base64. Padding may be missing, but if present it must be correct. */
function isBase64(text: string): boolean {
  const padding = /={0,2}$/.exec(text)?.[0].length ?? 0;
  const chars = text.length - padding;
  return (
    /^[A-Za-z0-9+/]*={0,2}$/.test(text) &&
    chars % 4 !== 1 &&
    (padding === 0 || text.length % 4 === 0)
  );
}

const Attachment = z
  .object({
    filename: z
      .string()
      .min(1)
      .max(255)
      .refine(
        (name) => !/[\r\n"]/.test(name),
        fault('invalid_string', 'Must not contain line breaks or double quotes.'),
      ),
    content: z
      .string()
      .min(1)
      .refine(
        isBase64,
        fault('invalid_string', 'Must be base64: letters, digits, + and /, without line breaks.'),
      ),
    contentType: z
      .string()
      .max(255)
      .refine(
        (type) => /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(;[^\r\n]*)?$/.test(type),
        fault('invalid_string', 'Must be a content type, such as application/pdf.'),
      ),
    disposition: z.enum(['attachment', 'inline']).default('attachment'),
    contentId: z
      .string()
      .min(1)
      .max(255)
      .refine(
        (id) => !/[<>\r\n]/.test(id),
        fault('invalid_string', 'Must not contain <, > or line breaks.'),
      )
      .optional(),
  })
  .refine((file) => file.disposition === 'attachment' || file.contentId !== undefined, {
    ...fault(
      'required',
      'Is required when `disposition` is "inline". The body shows the file with cid:<contentId>.',
    ),
    path: ['contentId'],
    ...whenRight('disposition', 'contentId'),
  });

/** `cc` and `bcc` are refused. If they were ignored, these recipients would get no mail. */
const NoCopies = z
  .unknown()
  .optional()
  .superRefine((value, context) => {
    if (value === undefined) return;
    const message =
      'Is not supported, because each recipient gets a separate message. List all recipients in `to`.';
    addFault(context, 'unsupported_field', message);
  })
  .meta({ not: {}, description: 'Refused' });

export const noSender = fault(
  'required',
  'Is required, unless `template` names a template with a sender.',
);

const Request = z
  .object({
    to: Recipients,
    cc: NoCopies,
    bcc: NoCopies,
    subject: Subject.optional(),
    body: z.string().min(1).optional(),
    template: Uuid.optional(),
    from: Sender.optional(),
    name: SenderName.optional(),
    reply: Email.optional(),
    subscribed: z.boolean().optional(),
    headers: Headers.optional(),
    data: ContactData,
    attachments: z.array(Attachment).optional(),
    scheduledFor: SendTime.optional().meta({ description: 'Send time; absent or null: now' }),
  })
  .refine(
    ({ template, subject, body }) =>
      template !== undefined || (subject !== undefined && body !== undefined),
    {
      ...fault('custom', 'Send either `template`, or both `subject` and `body`.'),
      path: ['template'],
      ...whenRight('template', 'subject', 'body'),
    },
  )
  .refine(({ template, from }) => template !== undefined || from !== undefined, {
    ...noSender,
    path: ['from'],
    ...whenRight('from'),
  })
  .meta({ id: 'SendRequest' });

/** The deprecated field `name` is used only if the sender is a text. */
export const SendBody = ignoring('name', ({ from }) => typeof from !== 'string', Request);

export type SendBody = z.output<typeof SendBody>;

/**
 * Checks the attachments of a request against the limits of this server: their number, and their
 * total size before base64.
 * @throws Problem VALIDATION_ERROR
 */
export function refuseLargeFiles(
  files: SendBody['attachments'] = [],
  {
    attachmentsMax,
    attachmentMegabytesMax,
  }: { attachmentsMax: number; attachmentMegabytesMax: number },
): void {
  const base64Chars = Math.floor((attachmentMegabytesMax * 1_048_576 * 4) / 3);
  const chars = files.reduce((sum, file) => sum + file.content.length, 0);
  const refusals = new Refusals();
  if (files.length > attachmentsMax) {
    const message = `Must have at most ${attachmentsMax} files, not ${files.length}.`;
    refusals.add(invalidField('attachments', 'too_big', message));
  }
  if (chars > base64Chars) {
    const megabytes = ((chars * 3) / 4 / 1_048_576).toFixed(1);
    const message = `All files together must have at most ${attachmentMegabytesMax} MB, not ${megabytes}.`;
    refusals.add(invalidField('attachments', 'too_big', message));
  }
  refusals.throw();
}
