import http from 'node:http';
import https from 'node:https';
import type { SendEmailCommandInput, SESv2ServiceException } from '@aws-sdk/client-sesv2';
import type { Mailer, OutgoingMessage, SendOutcome } from '../mailer.ts';
import { type SesAccount, sesClient } from './client.ts';

export interface SesSettings extends SesAccount {
  /**
   * Configuration set for mail in which SES tracks opens and clicks; empty: the mail has no
   * configuration set.
   */
  configurationSet: string;
  /** Configuration set for all other mail; empty: the mail has no configuration set. */
  configurationSetNoTracking: string;
  /** Idle time after which SES counts as unavailable, in milliseconds. Default 60,000. */
  timeoutMs?: number | undefined;
  /** Maximum number of connections. Default 50. */
  connectionsMax?: number | undefined;
}

const connectionsDefault = 50;
const connectMs = 5_000;
/**
 * Milliseconds after which an idle connection is closed, long before the server closes it. If the
 * server closes a connection during a request, the outcome of that request is uncertain.
 */
const idleMs = 5_000;
const retryAfterMsMax = 5 * 60_000;

/**
 * Creates a mailer for the API v2 of SES. Each message has its email id as tag `everpost_email_id`.
 */
export function sesMailer(settings: SesSettings): Mailer {
  const { connectionsMax = connectionsDefault } = settings;
  const requests = wire(settings.timeoutMs ?? 60_000, connectionsMax);
  // The SDK must not retry, because after a lost response it would send the message twice.
  const opened = sesClient(settings, { maxAttempts: 1, requestHandler: requests });
  return {
    provider: `ses ${settings.region}`,
    hasSimulator: false,
    // The usual rate of an SES account outside the sandbox.
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
    // SES reads the sender from the message. The recipient is set here, so that no header can add
    // another recipient.
    Content: { Raw: { Data: message.raw } },
    Destination: { ToAddresses: [message.to] },
    EmailTags: [{ Name: 'everpost_email_id', Value: message.emailId }],
    ...(set ? { ConfigurationSetName: set } : {}),
  };
}

/**
 * Temporary 4xx errors that have nothing to do with the message. A suspended account is not
 * included, because it stays suspended.
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
  // If there was a response, the SDK adds `$response` to the error, even when it could not parse
  // the response.
  const { name, message, $metadata, $response } = error as Partial<SESv2ServiceException>;
  const status = $metadata?.httpStatusCode ?? 0;
  if (status < 400) return { kind: 'uncertain', error: String(error) };
  if (status === 401 || status === 403) {
    // The credentials of this server are wrong. The error text is left out, because it may quote
    // the signed request.
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

/** Thrown when no response came. `requestSent`: the service may have received the whole request. */
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
 * Replaces the SDK's HTTP handler, because that handler does not show if a failed request was sent.
 * @param timeoutMs maximum idle time of a connection
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
    // The SDK's handler interface requires these members, but there is nothing to configure.
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
    // The timeout begins when the request gets a socket, so waiting for a socket does not count.
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
    // At `finish`, the operating system has the whole request. Before, the service cannot have
    // received the whole request.
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
