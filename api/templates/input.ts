import { z } from 'zod';
import { checkTemplate, compileTemplate } from '../../domain/template/render.ts';
import {
  addFault,
  Description,
  Email,
  Name,
  SenderName,
  SenderText,
  Subject,
  Uuid,
} from '../http/schemas.ts';

/** Templates in requests. */

export const TemplateType = z
  .enum(['TRANSACTIONAL', 'MARKETING', 'HEADLESS'])
  .describe(
    'The message class. MARKETING goes to subscribed contacts only, and gets a footer to opt out. ' +
      'TRANSACTIONAL goes to all contacts, without a footer. HEADLESS has no footer either; ' +
      'unsubscribed contacts get it only with /v1/send.',
  );

/**
 * Returns the schema of a text that must be a valid template. Texts that are slow to parse are
 * checked by `requireReadable`.
 */
export function templateText(schema: z.ZodString) {
  return schema.superRefine((source, context) => {
    if (!compileTemplate(source).isQuicklyRead) return;
    const checked = checkTemplate(source);
    if (!checked.ok) addFault(context, 'invalid_template', checked.message);
  });
}

export const TemplateInput = z.object({
  name: Name,
  subject: templateText(Subject),
  body: templateText(z.string().min(1)),
  type: TemplateType,
  from: SenderText.nullable().optional(),
  fromName: SenderName.nullable().optional(),
  replyTo: Email.nullable().optional(),
  description: Description.optional(),
  topicId: Uuid.nullable().optional().describe('Only with the type MARKETING'),
});

export const TemplateChange = TemplateInput.partial();
