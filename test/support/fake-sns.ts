import { randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createSns, type Sns, type SnsEnvelope } from '../../providers/sns.ts';
import { createCertificate } from './certificate.ts';

/** A stand-in for Amazon SNS on this machine: it signs for real, with a certificate of its own. */
export interface FakeSns {
  /** Trusts this server as it would trust Amazon's. */
  sns: Sns;
  url: string;
  /** Paths that were asked for, oldest first. */
  requests: string[];
  /** Makes the server answer so from now on. */
  answerWith(status: number): void;
  /** A notification of `message`, an object or a text, signed. */
  notification(message: unknown, more?: SnsEnvelope, version?: '1' | '2'): SnsEnvelope;
  /** A signed envelope of any type; `fields` replace what it usually has. */
  envelope(fields: SnsEnvelope, version?: '1' | '2'): SnsEnvelope;
  /** Signed as if it were of another type. */
  envelopeSignedAs(type: string, fields: SnsEnvelope): SnsEnvelope;
  close(): Promise<void>;
}

export async function startFakeSns(): Promise<FakeSns> {
  const { pem, privateKey } = createCertificate('sns.test');
  const requests: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(status).end(request.url?.startsWith('/cert') ? pem : '<ok/>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const envelope = (fields: SnsEnvelope, version = '2', signedAs = fields['Type']) => {
    const given: SnsEnvelope = {
      MessageId: randomUUID(),
      TopicArn: 'arn:aws:sns:eu-west-1:123456789012:everpost',
      Timestamp: '2026-11-21T08:30:00.000Z',
      SignatureVersion: version,
      SigningCertURL: `${url}/cert.pem`,
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
    return { ...given, Signature: sign(digest, Buffer.from(text), privateKey).toString('base64') };
  };

  return {
    sns: createSns({ isTrusted: ({ origin }) => origin === url }),
    url,
    requests,
    answerWith: (given) => void (status = given),
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
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
