import { mailbox } from './mail/mailbox/provider.ts';
import type { FeedbackReader, MailProvider } from './mail/provider.ts';
import { ses } from './mail/ses/provider.ts';
import { smtp } from './mail/smtp/provider.ts';

/** The mail providers. The first that the settings configure sends; the mailbox always can. */
export const mailProviders: readonly MailProvider[] = [ses, smtp, mailbox];

/** Readers of what providers report, by the kind of provider. */
export function createFeedbackReaders(): Record<string, FeedbackReader> {
  return Object.fromEntries(
    mailProviders.flatMap(({ kind, feedback }) =>
      feedback ? [[kind, feedback.createReader()]] : [],
    ),
  );
}
