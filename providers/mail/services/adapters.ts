import type { FeedbackAdapter } from './adapter.ts';
import { brevo } from './brevo.ts';
import { mailgun } from './mailgun.ts';
import { mailjet } from './mailjet.ts';
import { postmark } from './postmark.ts';
import { resend } from './resend.ts';
import { sendgrid } from './sendgrid.ts';

/** The mail services whose webhooks are understood. */
export const feedbackServices = [
  'postmark',
  'mailgun',
  'sendgrid',
  'brevo',
  'mailjet',
  'resend',
] as const;

export type FeedbackService = (typeof feedbackServices)[number];

export const feedbackAdapters: Readonly<Record<FeedbackService, FeedbackAdapter>> = {
  postmark,
  mailgun,
  sendgrid,
  brevo,
  mailjet,
  resend,
};

/** Returns the adapter of a provider's `feedback`; undefined: it has no webhooks. */
export function adapterOf(feedback: string): FeedbackAdapter | undefined {
  return feedbackServices.some((name) => name === feedback)
    ? feedbackAdapters[feedback as FeedbackService]
    : undefined;
}
