import { LRUCache } from 'lru-cache';
import { type DkimAlgorithm, dkimLabel } from '../../../domain/sender/dkim-record.ts';
import type { Mailer, OutgoingMessage, SenderDomain, SendOutcome } from '../mailer.ts';
import { readPrivateKey } from './keys.ts';
import type { SigningKeys } from './signature.ts';
import type { DkimThreads } from './threads.ts';

/** A key in its stored form: encrypted, and with the selector of the domain's RSA key. */
interface SealedKey {
  selector: string;
  algorithm: DkimAlgorithm;
  privateKey: Buffer;
}

/** The keys and the return path of a sender domain. */
interface Sender<Key> {
  /** Empty: Everpost does not sign mail of the domain. */
  keys: readonly Key[];
  /** Host of the domain's own return path; null: the domain has no return path of its own. */
  returnPathHost: string | null;
}

export interface SigningServices {
  dkim: Pick<DkimThreads, 'sign'>;
  cipher: { decrypt(bytes: Buffer): string };
  findSender(projectId: string, domain: string): Promise<Sender<SealedKey>>;
  /** Returns the envelope sender for a message, at a given host. */
  returnPathAt(emailId: string, host: string): string;
  /** The keys for the platform's own mail; null: this mail is not signed. */
  platformKeys: SigningKeys | null;
}

/**
 * Milliseconds for which keys are cached. A change takes effect after this time. The documentation
 * promises that it takes effect within a minute.
 */
const knownMs = 15_000;
const domainsMax = 1_000;

type OpenSender = Sender<SigningKeys['keys'][number]>;

const nothing: OpenSender = { keys: [], returnPathHost: null };

/** Wraps a mailer, so that its messages are signed before they are sent. */
export type Signing = (mailer: Mailer) => Mailer;

/**
 * Returns a function that wraps mailers. A wrapped mailer adds the signatures and the return path
 * of the sender domain to each message. If a key cannot be read, the message is tried again later,
 * so no message leaves without its signatures. All wrapped mailers share a cache of sender domains.
 */
export function createSigning(services: SigningServices): Signing {
  const known = new LRUCache<string, OpenSender>({ max: domainsMax, ttl: knownMs });
  const asked = new Map<string, Promise<OpenSender>>();

  async function readSender(key: string, projectId: string, domain: string): Promise<OpenSender> {
    try {
      const { keys, returnPathHost } = await services.findSender(projectId, domain);
      const sender = { keys: keys.map(opened), returnPathHost };
      known.set(key, sender);
      return sender;
    } finally {
      asked.delete(key);
    }
  }

  function opened({ selector, algorithm, privateKey }: SealedKey) {
    return {
      selector: dkimLabel({ selector, algorithm }),
      algorithm,
      privateKey: readPrivateKey(services.cipher.decrypt(privateKey)),
    };
  }

  /** Returns a cached sender synchronously, so that its mail needs no promise. */
  function senderOf({ projectId, domain }: SenderDomain): OpenSender | Promise<OpenSender> {
    if (projectId === null) {
      const { platformKeys } = services;
      return platformKeys?.domain === domain ? { ...nothing, keys: platformKeys.keys } : nothing;
    }
    const key = `${projectId} ${domain}`;
    const found = known.get(key);
    if (found) return found;
    const reading = asked.get(key) ?? readSender(key, projectId, domain);
    asked.set(key, reading);
    return reading;
  }

  async function prepare(
    message: OutgoingMessage,
    { projectId, domain }: SenderDomain,
    { keys, returnPathHost }: OpenSender,
  ): Promise<OutgoingMessage> {
    const { emailId, raw, envelopeFrom } = message;
    return {
      ...message,
      envelopeFrom: returnPathHost ? services.returnPathAt(emailId, returnPathHost) : envelopeFrom,
      raw:
        keys.length === 0 ? raw : await services.dkim.sign(raw, { domain, keys }, projectId ?? ''),
    };
  }

  async function sendPrepared(
    mailer: Mailer,
    message: OutgoingMessage,
    domain: SenderDomain,
    reading: OpenSender | Promise<OpenSender>,
  ): Promise<SendOutcome> {
    let prepared: OutgoingMessage;
    try {
      prepared = await prepare(message, domain, await reading);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      // The mail server is not the cause, so its circuit stays closed.
      const text = `The message was not signed (DKIM): ${reason}`;
      return { kind: 'retry', error: text, isAboutMessage: true };
    }
    return mailer.send(prepared);
  }

  return (mailer) => ({
    ...mailer,
    send(message) {
      const domain = message.senderDomain;
      const sender = domain ? senderOf(domain) : nothing;
      const isPlain =
        !(sender instanceof Promise) && sender.keys.length === 0 && !sender.returnPathHost;
      return !domain || isPlain
        ? mailer.send(message)
        : sendPrepared(mailer, message, domain, sender);
    },
  });
}
