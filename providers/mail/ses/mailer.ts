import http from 'node:http';
import https from 'node:https';
import type { SendEmailCommandInput, SESv2ServiceException } from '@aws-sdk/client-sesv2';
import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import { type SesAccount, sesClient } from './client.ts';

export interface SesSettings extends SesAccount {
  /** Configuration set for mail in which SES tracks opens and clicks; empty: none. */
  configurationSet: string;
  /** Configuration set for all other mail; empty: none. */
  configurationSetNoTracking: string;
  /** Idle time after which SES counts as unavailable, in milliseconds. Default 60,000. */
  timeoutMs?: number | undefined;
  /** Maximum number of connections. Default 50. */
  connectionsMax?: number | undefined;
}

const connectionsDefault = 50;
const connectMs = 5_000;
/**
 * When the server closes a pooled connection, a request on it may or may not have arrived: its
 * outcome is uncertain. So we close idle connections long before the server would.
 */
const idleMs = 5_000;
const retryAfterMsMax = 5 * 60_000;

/** A mailer on the SES v2 API. Each message carries its email id as tag `everpost_email_id`. */
export function sesMailer(settings: SesSettings): Mailer {
  const { connectionsMax = connectionsDefault } = settings;
  const requests = wire(settings.timeoutMs ?? 60_000, connectionsMax);
  // No retries by the SDK: after a lost response it would send the message twice.
  const opened = sesClient(settings, { maxAttempts: 1, requestHandler: requests });
  return {
    provider: `ses ${settings.region}`,
    hasSimulator: false,
    // The usual SES rate for an account outside its sandbox.
    defaultRatePerSecond: 14,
    maxConcurrency: connectionsMax,
    async send(message) {
      try {
        const { client, sdk } = await opened();
        const command = new sdk.SendEmailCommand(inputFor(message, settings));
        const { MessageId } = await client.send(command);
        return { kind: 'accepted', messageId: MessageId ?? message.emailId, delivered: false };
      } catch (error) {
        return outcomeOf(error);
      }
    },
    async quotaPerSecond() {
      const { client, sdk } = await opened();
      const { SendQuota } = await client.send(new sdk.GetAccountCommand({}));
      return SendQuota?.MaxSendRate ?? null;
    },
    async close() {
      requests.destroy();
    },
  };
}

export function inputFor(message: OutgoingMessage, settings: SesSettings): SendEmailCommandInput {
  const set = message.tracked ? settings.configurationSet : settings.configurationSetNoTracking;
  return {
    // SES reads the sender from the message. The recipient is named here, so that no header can add
    // one.
    Content: { Raw: { Data: message.raw } },
    Destination: { ToAddresses: [message.to] },
    EmailTags: [{ Name: 'everpost_email_id', Value: message.emailId }],
    ...(set ? { ConfigurationSetName: set } : {}),
  };
}

/**
 * Temporary 4xx errors that are not about the message. A suspended account is not among them,
 * because it stays suspended.
 */
const passing = new Set([
  'LimitExceededException',
  'SendingPausedException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
]);

function outcomeOf(error: unknown): SendOutcome {
  if (error instanceof WireError) {
    return { kind: error.requestSent ? 'uncertain' : 'retry', error: error.message };
  }
  // The SDK adds `$response` to every error after a response, even when it cannot parse the
  // response.
  const { name, message, $metadata, $response } = error as Partial<SESv2ServiceException>;
  const status = $metadata?.httpStatusCode ?? 0;
  if (status < 400) return { kind: 'uncertain', error: String(error) };
  if (status === 401 || status === 403) {
    // The operator must fix our credentials. The error text may quote the signed request, so it is
    // left out.
    return { kind: 'retry', error: `Amazon SES refused the credentials of this server: ${name}` };
  }
  const text = `${name} (${status}): ${message}`;
  if (status >= 500 || status === 408 || status === 429 || passing.has(name ?? '')) {
    return { kind: 'retry', error: text, ...retryAfter($response?.headers['retry-after']) };
  }
  return { kind: 'refused', error: text };
}

function retryAfter(header: string | undefined): { retryAfterMs?: number } {
  const ms = Number(header) * 1000;
  return ms > 0 ? { retryAfterMs: Math.min(ms, retryAfterMsMax) } : {};
}

/** There was no response. `requestSent`: the service may have read the whole request. */
export class WireError extends Error {
  readonly requestSent: boolean;
  constructor(message: string, requestSent: boolean) {
    super(message);
    this.requestSent = requestSent;
  }
}

interface WireRequest {
  protocol: string;
  hostname: string;
  port?: number;
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
}

interface WireResponse {
  statusCode: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
}

/**
 * Replaces the SDK's HTTP handler, which does not report whether a failed request had been sent.
 * @param timeoutMs the longest idle time on a connection.
 */
export function wire(timeoutMs: number, connectionsMax: number) {
  const options = { keepAlive: true, maxSockets: connectionsMax, timeout: idleMs };
  const agents = { http: new http.Agent(options), https: new https.Agent(options) };
  return {
    handle: (request: WireRequest) =>
      exchange(request, request.protocol === 'http:' ? agents.http : agents.https, timeoutMs),
    destroy() {
      agents.http.destroy();
      agents.https.destroy();
    },
    // Required by the SDK's handler interface; there is nothing to configure.
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

function exchange(
  request: WireRequest,
  agent: http.Agent,
  timeoutMs: number,
): Promise<{ response: WireResponse }> {
  const { protocol, hostname, port, method, path, headers } = request;
  return new Promise((resolve, reject) => {
    const sending = (protocol === 'http:' ? http : https).request({
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port,
      method,
      path,
      headers,
      agent,
    });
    let sent = false;
    const fail = (error: Error) => reject(new WireError(`SES: ${error.message}`, sent));
    // The timeout starts with the socket: waiting for a free one does not count.
    sending.once('socket', (socket) => {
      if (!socket.connecting) return;
      const connecting = setTimeout(
        () => sending.destroy(new Error(`no connection within ${connectMs} ms`)),
        connectMs,
      );
      const ready = () => clearTimeout(connecting);
      socket.once(protocol === 'http:' ? 'connect' : 'secureConnect', ready);
      sending.once('close', ready);
    });
    // `finish`: the operating system has the whole request. Before that the service cannot have it.
    sending.once('finish', () => (sent = true));
    sending.setTimeout(timeoutMs, () =>
      sending.destroy(new Error(`no answer within ${timeoutMs} ms`)),
    );
    sending.on('error', fail);
    sending.once('response', (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', fail);
      answer.once('end', () => {
        const statusCode = answer.statusCode ?? 0;
        resolve({ response: { statusCode, headers: answer.headers, body: Buffer.concat(chunks) } });
      });
    });
    sending.end(request.body);
  });
}
