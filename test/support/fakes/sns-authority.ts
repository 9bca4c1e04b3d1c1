import { randomUUID, sign } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { SnsEnvelope, SnsSettings } from '../../../providers/mail/ses/sns.ts';
import { type Certificate, createCertificate } from './certificate.ts';

/**
 * URLs and certificates of Amazon SNS, on this machine. One authority issues all certificates: the
 * host's certificate directly, the signing certificate through an intermediate. As at SNS, the
 * signing certificate contains the URL of the intermediate's certificate.
 */
export interface SnsAuthority {
  url: string;
  /** Requested URLs, oldest first. */
  requests: string[];
  /** Sets the status of all further responses. */
  answerWith(status: number): void;
  /** Serves a file at its own URL, and returns the URL. */
  serve(file: string | Buffer): string;
  authority: Certificate;
  /** Issuer of the signing certificate. */
  intermediate: Certificate;
  /** The certificate that signs messages. */
  signing: Certificate;
  /** Returns a signed notification of `message`, an object or a text. */
  notification(message: unknown, more?: SnsEnvelope, version?: '1' | '2'): SnsEnvelope;
  /** Returns a signed envelope of any type; `fields` override the usual ones. */
  envelope(fields: SnsEnvelope, version?: '1' | '2'): SnsEnvelope;
  /** Returns an envelope with a signature for another type. */
  envelopeSignedAs(type: string, fields: SnsEnvelope): SnsEnvelope;
  /** The servers of the certificates. The caller makes them listen. */
  servers: { https: ReturnType<typeof createTlsServer>; http: ReturnType<typeof createServer> };
}

const host = 'sns.eu-west-1.amazonaws.com';
const url = `https://${host}`;
const issuerUrl = 'http://issuers.test/issuer.cer';

export function createSnsAuthority(): SnsAuthority {
  const authority = createCertificate('Test Authority', { isAuthority: true });
  const hostCertificate = createCertificate(host, { issuer: authority, hosts: [host] });
  const intermediate = createCertificate('Test Issuer', { issuer: authority, isAuthority: true });
  const signing = createCertificate('sns.amazonaws.com', {
    issuer: intermediate,
    hosts: ['sns.amazonaws.com'],
    issuerUrl,
  });
  const files = new Map<string, string | Buffer>([[issuerUrl, intermediate.der]]);
  const serve = (file: string | Buffer) => {
    const at = `${url}/SimpleNotificationService-${randomUUID().replaceAll('-', '')}.pem`;
    files.set(at, file);
    return at;
  };
  const certificateUrl = serve(signing.pem);

  const requests: string[] = [];
  let status = 200;
  const answer =
    (scheme: string): RequestListener =>
    (request, response) => {
      const asked = `${scheme}://${request.headers.host}${request.url}`;
      requests.push(asked);
      response.writeHead(status, { location: `${url}/elsewhere` });
      response.end(files.get(asked) ?? '<ok/>');
    };
  const key = hostCertificate.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const secure = createTlsServer({ key, cert: hostCertificate.pem }, answer('https'));
  const plain = createServer(answer('http'));
  const envelope = (fields: SnsEnvelope, version = '2', signedAs = fields['Type']) => {
    const given: SnsEnvelope = {
      MessageId: randomUUID(),
      TopicArn: 'arn:aws:sns:eu-west-1:123456789012:everpost',
      Timestamp: new Date().toISOString(),
      SignatureVersion: version,
      SigningCertURL: certificateUrl,
      ...fields,
    };
    const isNotification = signedAs === 'Notification';
    const names = isNotification
      ? ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type']
      : ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];
    const text = names
      .filter((name) => given[name] !== undefined)
      .map((name) => `${name}\n${String(given[name])}\n`)
      .join('');
    const digest = version === '1' ? 'sha1' : 'sha256';
    const signature = sign(digest, Buffer.from(text), signing.privateKey);
    return { ...given, Signature: signature.toString('base64') };
  };

  return {
    url,
    requests,
    answerWith: (given) => void (status = given),
    serve,
    servers: { https: secure, http: plain },
    authority,
    intermediate,
    signing,
    envelope: (fields, version) => envelope(fields, version),
    envelopeSignedAs: (type, fields) => envelope(fields, '2', type),
    notification: (message, more = {}, version) =>
      envelope(
        {
          Type: 'Notification',
          Message: typeof message === 'string' ? message : JSON.stringify(message),
          ...more,
        },
        version,
      ),
  };
}

/**
 * Returns settings with which Everpost trusts an authority whose servers listen on these ports, as
 * it trusts Amazon's.
 */
export function trusting(pem: string, ports: { https: number; http: number }): SnsSettings {
  const portOf = ({ protocol }: URL) => (protocol === 'https:' ? ports.https : ports.http);
  return {
    authorities: [pem],
    hostAuthorities: [pem],
    connectTo: (asked) => ({ hostname: '127.0.0.1', port: portOf(asked) }),
  };
}
