import type { Route } from '../domain/routing/routing.ts';
import { readProvidersFile } from './mail/pool/providers-file.ts';
import { mailbox } from './mail/mailbox/provider.ts';
import type { FeedbackReader, MailProvider, Variables } from './mail/provider.ts';
import { readSesEndpoint, ses } from './mail/ses/provider.ts';
import { smtp } from './mail/smtp/provider.ts';

/**
 * All mail providers. Mail is sent through the first provider that is configured. The mailbox comes
 * last, because it needs no settings.
 */
export const mailProviders: readonly MailProvider[] = [ses, smtp, mailbox];

/** Creates the readers of reports, by the kind of provider. */
export function createFeedbackReaders(): Record<string, FeedbackReader> {
  return Object.fromEntries(
    mailProviders.flatMap(({ kind, feedback }) =>
      feedback ? [[kind, feedback.createReader()]] : [],
    ),
  );
}

/**
 * Reads the settings of all mail providers except the default provider.
 * @throws ConfigError
 */
export function providerSettings(
  variables: Variables,
  environment: Readonly<Record<string, string | undefined>>,
) {
  const { providers, routes } = readProvidersFile(
    variables['MAIL_PROVIDERS_FILE'] as string | undefined,
    environment,
  );
  return {
    sesEndpoint: readSesEndpoint(variables),
    /** The other providers of the installation. */
    providers,
    /** The routes of the installation, which apply to mail that no route of its project matches. */
    routes: routes as readonly Route[],
  };
}
