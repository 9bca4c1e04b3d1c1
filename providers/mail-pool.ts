import { LRUCache } from 'lru-cache';
import {
  circuitName,
  defaultProviderId,
  reportsDelivery,
  type StoredProvider,
} from '../domain/provider/provider.ts';
import type { Cipher } from './encryption.ts';
import type { Signing } from './mail/dkim/signing-mailer.ts';
import { guarded } from './mail/guarded-mailer.ts';
import type { Mailer, OutgoingMessage } from './mail/mailer.ts';
import { limitedMailer } from './mail/pool/limited-mailer.ts';
import { OpenMailers } from './mail/pool/open-mailers.ts';
import {
  ownerOf,
  type ProviderServer,
  type ServerOwner,
  type ServerRules,
  serverOf,
  sesSettingsOf,
  smtpSettingsOf,
  traitsOf,
} from './mail/pool/stored-provider.ts';
import { tryOut } from './mail/pool/try-out.ts';
import type { InstallationProvider } from './mail/pool/providers-file.ts';
import type { MailSender } from './mail/provider.ts';
import { identifiedMailer } from './mail/services/identified-mailer.ts';
import { sesMailer } from './mail/ses/mailer.ts';
import { smtpMailer } from './mail/smtp/mailer.ts';
import type { Trial } from './mail/trial.ts';

/** A mail provider, with the mailer that sends through it. */
export interface PoolProvider {
  /** `default`, the name of a provider of the installation, or a uuid for a project's provider. */
  id: string;
  scope: 'installation' | 'project';
  name: string;
  kind: string;
  feedback: string;
  enabled: boolean;
  /** Sender domains for which the provider may send; null: all sender domains. */
  domains: readonly string[] | null;
  ratePerSecond: number | null;
  maxMessageBytes: number | null;
  ownSigning: boolean;
  reportsDelivery: boolean;
  /**
   * The mailer, which connects when it is first used. `mailer.provider` is the name of the circuit.
   */
  mailer: Mailer;
}

/** The mail providers that this process can use. */
export interface MailPool {
  default: PoolProvider;
  /** The providers of the installation: `default`, then the providers in MAIL_PROVIDERS_FILE. */
  installation: readonly PoolProvider[];
  /**
   * Returns the providers that a project may use: first the providers of the installation, then the
   * project's own. The result is cached for `freshMs`.
   */
  providersOf(projectId: string): Promise<readonly PoolProvider[]>;
  /**
   * Tests a project's provider, which may be disabled, and sends a message if one is given. A test
   * takes at most 15 seconds and does not affect the circuit.
   */
  tryOut(provider: StoredProvider, message: OutgoingMessage | null): Promise<Trial>;
  /** Closes each mailer after it has sent the messages that it has begun to send. */
  close(): Promise<void>;
}

export interface MailPoolSettings {
  /** The provider that sends mail without a route. */
  sender: Pick<MailSender, 'canSign' | 'reports' | 'reportsDeliveries'>;
  kind: string;
  /** The mailer of this provider, without signatures. */
  mailer: Mailer;
  /** The other providers of the installation. */
  installation: readonly InstallationProvider[];
  signing: Signing;
  listStored(projectId: string): Promise<StoredProvider[]>;
  cipher: Pick<Cipher, 'decrypt'>;
  rules: ServerRules;
  openMailers?: OpenMailers;
  sendMs?: number;
}

/** Milliseconds for which a project's providers are cached. */
const freshMs = 4_000;
const projectsMax = 2_000;
const mailersMax = 5_000;

const bytesOf = (megabytes: number | null) => (megabytes === null ? null : megabytes * 1024 * 1024);

export function createMailPool(settings: MailPoolSettings): MailPool {
  const { signing, rules, cipher, openMailers = new OpenMailers(), sendMs } = settings;
  const known = new LRUCache<string, Promise<readonly PoolProvider[]>>({
    max: projectsMax,
    ttl: freshMs,
  });
  /** Mailers by provider and revision, because a mailer in use must remain the same object. */
  const mailers = new LRUCache<string, Mailer>({ max: mailersMax });
  const byDefault = defaultProvider(settings);
  const installation = [
    byDefault,
    ...settings.installation.map((one) =>
      poolProvider(
        'installation',
        one,
        rules,
        guarded(prepared(one, installationMailer(one, rules))),
      ),
    ),
  ];

  /**
   * Wraps a mailer so that each message gets the signatures and headers that this provider needs.
   */
  function prepared(
    given: Pick<StoredProvider, 'ownSigning' | 'feedback'>,
    mailer: Mailer,
  ): Mailer {
    return identifiedMailer(given.ownSigning ? signing(mailer) : mailer, given.feedback);
  }

  function mailerOf(projectId: string, stored: StoredProvider): Mailer {
    const { id, revision } = stored;
    const name = `${id} ${revision}`;
    const before = mailers.get(name);
    if (before) return before;
    openMailers.retireBefore(id, revision);
    const mailer = limitedMailer({
      key: { projectId, providerId: id, revision },
      make: () => makeMailer(serverOf(stored, cipher), ownerOf(stored, rules), rules),
      open: openMailers,
      sendMs,
      traits: traitsOf(stored, rules),
    });
    const made = guarded(prepared(stored, mailer));
    mailers.set(name, made);
    return made;
  }

  async function read(projectId: string): Promise<readonly PoolProvider[]> {
    const stored = await settings.listStored(projectId);
    const own = stored.map((one) => poolProvider('project', one, rules, mailerOf(projectId, one)));
    return [...installation, ...own];
  }

  return {
    default: byDefault,
    installation,
    async providersOf(projectId) {
      const before = known.get(projectId);
      if (before) return before;
      const reading = read(projectId);
      known.set(projectId, reading);
      // A failed read is not cached.
      reading.catch(() => known.delete(projectId));
      return reading;
    },
    tryOut: (stored, message) =>
      tryOut(stored, message, { cipher, rules, prepare: (mailer) => prepared(stored, mailer) }),
    async close() {
      await Promise.all(installation.map(({ mailer }) => mailer.close()));
      await openMailers.close();
    },
  };
}

function defaultProvider({ sender, kind, mailer, signing }: MailPoolSettings): PoolProvider {
  return {
    id: defaultProviderId,
    scope: 'installation',
    name: defaultProviderId,
    kind,
    feedback: sender.reports,
    enabled: true,
    domains: null,
    ratePerSecond: null,
    maxMessageBytes: null,
    ownSigning: sender.canSign,
    reportsDelivery: sender.reportsDeliveries,
    mailer: guarded(sender.canSign ? signing(mailer) : mailer),
  };
}

function poolProvider(
  scope: PoolProvider['scope'],
  given: Omit<StoredProvider, 'revision' | 'secret'>,
  rules: ServerRules,
  mailer: Mailer,
): PoolProvider {
  const { id, name, fields, feedback, enabled, domains, ratePerSecond, ownSigning } = given;
  return {
    id,
    scope,
    name,
    kind: fields.kind,
    feedback,
    enabled,
    domains,
    ratePerSecond,
    maxMessageBytes: bytesOf(given.maxMessageMb),
    ownSigning,
    reportsDelivery: reportsDelivery(feedback, rules),
    mailer,
  };
}

/** Creates the mailer of a provider of the installation, whose server the operator has chosen. */
function installationMailer(
  { id, fields, secret, feedback }: InstallationProvider,
  rules: ServerRules,
): Mailer {
  const reports = reportsDelivery(feedback, rules);
  const owner = { scope: 'installation', feedback, reportsDelivery: reports } as const;
  const server: ProviderServer =
    fields.kind === 'smtp'
      ? { kind: 'smtp', fields, secret }
      : { kind: 'ses', fields, secret: secret ?? '' };
  return { ...makeMailer(server, owner, rules), provider: circuitName(id) };
}

function makeMailer(server: ProviderServer, owner: ServerOwner, rules: ServerRules): Mailer {
  return server.kind === 'smtp'
    ? smtpMailer(smtpSettingsOf(server, owner, rules))
    : sesMailer(sesSettingsOf(server, owner, rules));
}

/**
 * Returns a function that is true for messages whose mail provider reports no deliveries. Providers
 * of projects count as reporting. They are not looked up, because the function is called in a
 * transaction.
 */
export function unreportedBy({ installation }: MailPool) {
  return ({ providerId }: { providerId: string | null }) => {
    const id = providerId ?? defaultProviderId;
    return installation.some((provider) => provider.id === id && !provider.reportsDelivery);
  };
}
