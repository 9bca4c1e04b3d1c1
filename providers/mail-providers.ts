import type { Route } from '../domain/routing/routing.ts';
import { readProvidersFile } from './mail/pool/providers-file.ts';
import { mailbox } from './mail/mailbox/provider.ts';
import type { FeedbackReader, MailProvider, Variables } from './mail/provider.ts';
import { readSesEndpoint, ses } from './mail/ses/provider.ts';
import { smtp } from './mail/smtp/provider.ts';

/**
 * All mail providers. The first one that the settings configure sends. The mailbox needs no
 * settings, so it is last.
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
 * Settings of mail providers besides the one that sends by default.
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
    /** Other providers of the installation. */
    providers,
    /** Routes of the installation, for mail that no route of its project matches. */
    routes: routes as readonly Route[],
  };
}
