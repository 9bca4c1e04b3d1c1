import { verify } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { createCertificateStore } from './sns-certificates.ts';
import { createFetcher, type Network } from '../../web/bounded-fetch.ts';

/** A request that claims to come from Amazon SNS. Only its signature proves this. */
export type SnsEnvelope = Record<string, unknown>;

export interface Sns {
  /**
   * Returns a sentence with the reason why an envelope cannot be a recent message from SNS; null:
   * no reason was found. No request is made.
   */
  findFlaw(envelope: SnsEnvelope): string | null;
  /**
   * Returns true if SNS signed the envelope recently.
   * @throws Error when the certificates cannot be fetched
   */
  isAuthentic(envelope: SnsEnvelope): Promise<boolean>;
  isSnsUrl(url: string): boolean;
  /** Confirms the subscription to a topic. @throws Error when SNS does not respond with 2xx */
  confirm(subscribeUrl: string): Promise<void>;
}

export interface SnsSettings extends Network {
  /** Trusted authorities for certificates of SNS, as PEM. Default: the authorities of Node.js. */
  authorities?: readonly string[];
  /** Returns the current time in milliseconds since 1970. Default: the system's clock. */
  now?: () => number;
}

/** Maximum number of bytes of the response to a confirmation; a few hundred are usual. */
const confirmationBytesMax = 64 * 1024;
/**
 * Maximum difference between a message's time and now, in milliseconds. SNS retries a message for
 * up to an hour (SNS developer guide, message delivery retries). The same tolerance covers clocks
 * that are slow.
 */
const ageMsMax = 3_600_000;

const snsHost = /^sns\.[a-z0-9-]{1,32}\.amazonaws\.com(?:\.cn)?$/;
/** Matches the whole URL, so there is no port, user name, query or fragment. */
const certificateUrl =
  /^https:\/\/sns\.[a-z0-9-]{1,32}\.amazonaws\.com(?:\.cn)?\/SimpleNotificationService-[0-9a-f]{1,64}\.pem$/;

/** The fields that SNS signs, by message type and in this order (SNS developer guide). */
const notificationFields = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
const confirmationFields = [
  'Message',
  'MessageId',
  'SubscribeURL',
  'Timestamp',
  'Token',
  'TopicArn',
  'Type',
];
const confirmationTypes = new Set(['SubscriptionConfirmation', 'UnsubscribeConfirmation']);

const digests: Record<string, string> = { '1': 'sha1', '2': 'sha256' };

/** Creates the check of SNS messages. Certificates are fetched once a day and cached. */
export function createSns(settings: SnsSettings = {}): Sns {
  const { authorities = rootCertificates, now = Date.now } = settings;
  const fetchBytes = createFetcher(settings);
  const certificates = createCertificateStore({ fetchBytes, authorities, now });

  /**
   * Returns the parts of an envelope that the check of its signature needs, or a sentence with the
   * problem.
   */
  function read(envelope: SnsEnvelope) {
    const { SignatureVersion: version, Signature: signature } = envelope;
    const digest = typeof version === 'string' ? digests[version] : undefined;
    const text = signedText(envelope);
    if (!digest || text === null || typeof signature !== 'string' || signature === '') {
      return 'The message lacks SignatureVersion, Signature or a signed field of Amazon SNS.';
    }
    const url = envelope['SigningCertURL'];
    if (typeof url !== 'string' || !certificateUrl.test(url)) {
      return 'SigningCertURL is not the address of a certificate of Amazon SNS.';
    }
    const sentAt = Date.parse(envelope['Timestamp'] as string);
    if (!(Math.abs(now() - sentAt) <= ageMsMax)) {
      return 'The message is older than an hour, or from the future.';
    }
    return { digest, text, signature, url: new URL(url) };
  }

  return {
    findFlaw(envelope) {
      const parts = read(envelope);
      return typeof parts === 'string' ? parts : null;
    },
    async isAuthentic(envelope) {
      const parts = read(envelope);
      if (typeof parts === 'string') return false;
      const key = await certificates.findKey(parts.url);
      if (!key) return false;
      const signature = Buffer.from(parts.signature, 'base64');
      return verify(parts.digest, Buffer.from(parts.text), key, signature);
    },
    isSnsUrl: isSnsAddress,
    async confirm(subscribeUrl) {
      if (!isSnsAddress(subscribeUrl)) throw new Error('Not an address of SNS.');
      await fetchBytes(new URL(subscribeUrl), confirmationBytesMax);
    },
  };
}

function isSnsAddress(written: string): boolean {
  const url = URL.parse(written);
  return (
    url !== null &&
    url.protocol === 'https:' &&
    snsHost.test(url.hostname) &&
    url.port === '' &&
    url.username === '' &&
    url.password === ''
  );
}

/** Returns the text that SNS signs; null when a field is not a string. */
function signedText(envelope: SnsEnvelope): string | null {
  const isConfirmation = confirmationTypes.has(envelope['Type'] as string);
  let text = '';
  for (const name of isConfirmation ? confirmationFields : notificationFields) {
    const value = envelope[name];
    // Only the subject is optional.
    if (name === 'Subject' && (value === undefined || value === null)) continue;
    if (typeof value !== 'string') return null;
    text += `${name}\n${value}\n`;
  }
  return text;
}
