import { hasWebhook, type WebhookService } from '../../../domain/provider/provider.ts';
import type { FeedbackAdapter } from './adapter.ts';
import { brevo } from './brevo.ts';
import { mailgun } from './mailgun.ts';
import { mailjet } from './mailjet.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';

/** The adapters of the mail services that report by webhooks. */
const adapters: Readonly<Record<WebhookService, FeedbackAdapter>> = {
  postmark,
  mailgun,
  sendgrid,
  brevo,
  mailjet,
  resend,
};

/** Returns the adapter for a provider's `feedback`; undefined: such a provider has no webhooks. */
export function adapterOf(feedback: string): FeedbackAdapter | undefined {
  return hasWebhook(feedback) ? adapters[feedback] : undefined;
}
