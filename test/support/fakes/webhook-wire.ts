import { createHmac } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from 'node:http';
import { createServer as createSocketServer } from 'node:net';
import {
  createWebhookSender,
  type WebhookAttempt,
  type WebhookSenderSettings,
} from '../../../providers/web/webhook.ts';
import { listen, use } from '../use.ts';

/** Webhooks as bytes on the wire. */

interface Received {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface WireReceiver {
  url: string;
  port: number;
  received: Received[];
  connections: number;
  /** Number of open connections. */
  open: number;
  close(): Promise<void>;
}

export type WireAnswer = (request: Received, response: Parameters<RequestListener>[1]) => void;

/** Starts a web server on loopback that records its requests. */
export async function useWireReceiver(
  answer: WireAnswer = (_request, response) => response.end('ok'),
  create: (listener: RequestListener) => Server = createServer,
): Promise<WireReceiver> {
  const server = create((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const got = { method, url, headers, body: Buffer.concat(chunks) };
      receiver.received.push(got);
      answer(got, response);
    });
  });
  server.on('connection', (socket) => {
    receiver.connections += 1;
    receiver.open += 1;
    socket.on('close', () => (receiver.open -= 1));
  });
  const { port, url, close } = use(await listen(server));
  const receiver: WireReceiver = { url, port, received: [], connections: 0, open: 0, close };
  return receiver;
}

/**
 * Starts a server on loopback that responds to every request, after its headers, with exactly the
 * bytes of `answer`.
 */
export async function useRawReceiver(
  answer: string | Buffer,
): Promise<{ url: string; asked(): number }> {
  let asked = 0;
  const server = createSocketServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      asked += 1;
      socket.end(answer);
    });
  });
  const { url } = use(await listen(server));
  return { url, asked: () => asked };
}

const secret = 'whsec_0123456789';

/** Sends a webhook with the changes in `call`. */
export function sendWebhook(
  url: string,
  call: Partial<WebhookAttempt> = {},
  settings: Partial<WebhookSenderSettings> = {},
) {
  const sender = createWebhookSender({ timeoutMs: 5_000, allowPrivate: true, ...settings });
  return sender.send({
    url,
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"a":"ä"}',
    deliveryId: 'delivery-1',
    secret,
    timestamp: 1_789_000_000,
    ...call,
  });
}

/** Sends a request of an event subscription. */
export function postEvent(url: string) {
  const sender = createWebhookSender({ timeoutMs: 5_000, allowPrivate: true });
  return sender.post({ url, headers: {}, body: '{}', answerBytes: 1024 });
}

/** Returns the signature header of a webhook from `sendWebhook` with this body. */
export const webhookSignature = (body: string) =>
  `t=1789000000,v1=${createHmac('sha256', secret).update(`1789000000.${body}`).digest('hex')}`;

/** Returns an IPv4 address in the form in which a resolver returns it. */
export const v4 = (address: string) => ({ address, family: 4 });
