import { type KeyObject, verify, X509Certificate } from 'node:crypto';

/** What Amazon SNS posts to a subscriber; only the signature says that it is from there. */
export type SnsEnvelope = Record<string, unknown>;

export interface Sns {
  /**
   * Whether SNS itself has signed this.
   * @throws Error when the certificate cannot be fetched.
   */
  isAuthentic(envelope: SnsEnvelope): Promise<boolean>;
  /** Whether an address belongs to SNS. */
  isSnsUrl(url: string): boolean;
  /** Asks for the notifications of a topic. @throws Error when SNS does not answer 2xx. */
  confirm(subscribeUrl: string): Promise<void>;
}

export interface SnsSettings {
  /** Which addresses are asked. Default: https on a host of SNS, its own port, no user name. */
  isTrusted?: (url: URL) => boolean;
}

/** For the certificate, or the confirmation, in ms. */
const answerMs = 5_000;
/** A certificate is 2 KB long. */
const answerBytesMax = 64 * 1024;
/** SNS has one certificate for each region at a time. */
const certificatesMax = 100;

const snsHost = /^sns\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?$/;

function isSnsAddress({ protocol, hostname, port, username, password }: URL): boolean {
  return (
    protocol === 'https:' &&
    snsHost.test(hostname) &&
    port === '' &&
    username === '' &&
    password === ''
  );
}

/** Signed fields by message type, in the order SNS signs them (SNS developer guide). */
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

const digests: Record<string, string> = { '1': 'sha1', '2': 'sha256' };

/** Certificates are fetched once and kept. */
export function createSns({ isTrusted = isSnsAddress }: SnsSettings = {}): Sns {
  const keys = new Map<string, Promise<KeyObject>>();

  function readUrl(written: unknown): URL | null {
    if (typeof written !== 'string' || !URL.canParse(written)) return null;
    const url = new URL(written);
    return isTrusted(url) ? url : null;
  }

  function keyOf(url: URL): Promise<KeyObject> {
    const known = keys.get(url.href);
    if (known) return known;
    const key = fetchText(url).then((pem) => new X509Certificate(pem).publicKey);
    if (keys.size >= certificatesMax) keys.clear();
    keys.set(url.href, key);
    key.catch(() => keys.delete(url.href));
    return key;
  }

  return {
    async isAuthentic(envelope) {
      const { SignatureVersion: version, Signature: signature } = envelope;
      const digest = typeof version === 'string' ? digests[version] : undefined;
      const url = readUrl(envelope['SigningCertURL']);
      const signed = signedText(envelope);
      if (!digest || typeof signature !== 'string' || !url?.pathname.endsWith('.pem') || !signed) {
        return false;
      }
      const key = await keyOf(url);
      return verify(digest, Buffer.from(signed), key, Buffer.from(signature, 'base64'));
    },
    isSnsUrl: (url) => readUrl(url) !== null,
    async confirm(subscribeUrl) {
      const url = readUrl(subscribeUrl);
      if (!url) throw new Error('Not an address of SNS.');
      await fetchText(url);
    },
  };
}

/** The text SNS signs; null when a field is none. */
function signedText(envelope: SnsEnvelope): string | null {
  const isConfirmation = /^(?:Uns|S)ubscri(?:be|ption)Confirmation$/.test(String(envelope['Type']));
  let text = '';
  for (const name of isConfirmation ? confirmationFields : notificationFields) {
    const value = envelope[name];
    // Only the subject may be missing.
    if (name === 'Subject' && (value === undefined || value === null)) continue;
    if (typeof value !== 'string') return null;
    text += `${name}\n${value}\n`;
  }
  return text;
}

/** Follows no redirect: it would leave the hosts that are trusted. */
async function fetchText(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(answerMs) });
  if (!response.ok) throw new Error(`${url.host} answered ${response.status}.`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += (chunk as Uint8Array).length;
    if (size > answerBytesMax) throw new Error(`${url.host} answered too much.`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}
