import { createHmac } from 'node:crypto';
import { lookup as resolve } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { connectionHeaders } from '../../domain/webhook/connection-headers.ts';
import type { WebhookCall, WebhookOutcome } from '../../domain/webhook/webhook.ts';
import { AddressRefused, createAddressGuard } from './address-guard.ts';
import { type Body, exchange, readBody, textOf } from './exchange.ts';

export interface WebhookAttempt extends WebhookCall {
  /**
   * Id by which the receiver recognises repeated requests. The id is the same for every attempt.
   */
  deliveryId: string;
  secret: string;
  /** When the request is signed, in Unix seconds. */
  timestamp: number;
  /**
   * True if the body contains credentials. Then the body and its content type are sent only to the
   * origin of the URL, and not to another origin after a redirect. Default: false.
   */
  bodyIsSecret?: boolean;
}

export interface WebhookSender {
  /**
   * Calls the receiver once, and follows at most 5 redirects. Network errors are outcomes, never
   * rejections. No connection is reused, so that the address is checked for each request.
   */
  send(attempt: WebhookAttempt): Promise<WebhookOutcome>;
  /**
   * Sends one POST with exactly these headers, and follows no redirect. The result is known as soon
   * as the headers of the response have arrived. If the status is not 2xx, the beginning of the
   * body is also read.
   */
  post(request: PostRequest): Promise<WebhookOutcome>;
  /**
   * Returns true if the host of a URL is an IP address, in any notation, that the guard refuses.
   */
  refuses(url: URL): boolean;
}

export interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Maximum number of bytes that are read of the response's body. */
  answerBytes: number;
}

export interface WebhookSenderSettings {
  /**
   * Maximum number of milliseconds for lookups, connections, redirects and the response together.
   */
  timeoutMs: number;
  /** True: the address guard is off (for development). */
  allowPrivate: boolean;
  /** True: addresses of this machine are allowed, too (for development). Default: false. */
  allowLoopback?: boolean;
  /** Returns all addresses of a host name. Default: the system's resolver. */
  lookup?: (hostname: string) => Promise<LookupAddress[]>;
  /** Returns true if an address is allowed. Default: true for addresses of the public Internet. */
  isPublic?: (address: string) => boolean;
}

const redirectsMax = 5;
const answerBytesMax = 64 * 1024;
/**
 * Milliseconds until the next address of a host is tried. Node's default, 250, is too short for
 * distant receivers.
 */
const nextAddressMs = 1_000;

/** Thrown when a request must not be sent. A retry would not help. */
class Refusal extends AddressRefused {}

/**
 * Creates a sender of webhooks that calls only the public Internet. For each request, also after a
 * redirect, the host is resolved once, its addresses are checked, and the connection goes to one of
 * the checked addresses.
 */
export function createWebhookSender(settings: WebhookSenderSettings): WebhookSender {
  const { timeoutMs } = settings;
  const guard = createAddressGuard({
    lookup: (hostname) => resolve(hostname, { all: true }),
    ...settings,
  });

  async function follow(attempt: WebhookAttempt, signal: AbortSignal): Promise<WebhookOutcome> {
    let url = readUrl(attempt.url);
    let call: Call = attempt;
    for (let redirects = 0; ; redirects += 1) {
      const addresses = await guard.findAddresses(hostOf(url));
      signal.throwIfAborted();
      const signedCall = { ...call, headers: signed(call, attempt) };
      const answer = await request(url, addresses, signedCall, { signal, read: readOrRedirect });
      if (!('location' in answer)) return answer;
      if (redirects === redirectsMax) {
        throw new Refusal(`The receiver redirected more than ${redirectsMax} times.`);
      }
      const next = readUrl(answer.location, url);
      const isForeign = next.origin !== url.origin;
      if (url.protocol === 'https:' && next.protocol === 'http:') {
        throw new Refusal('The receiver redirected from https to http.');
      }
      call = redirected(call, answer.statusCode, { isForeign, isSecret: attempt.bodyIsSecret });
      if (isForeign && attempt.bodyIsSecret && call.body !== null) {
        throw new Refusal(
          'The receiver redirected a request with a secret to another origin, which must not get the secret.',
        );
      }
      url = next;
    }
  }

  return {
    send: (attempt) => inTime(timeoutMs, (signal) => follow(attempt, signal)),
    post: ({ headers, body, answerBytes, ...target }) =>
      inTime(timeoutMs, async (signal) => {
        const url = readUrl(target.url);
        const addresses = await guard.findAddresses(hostOf(url));
        signal.throwIfAborted();
        const call: Call = { method: 'POST', headers, body };
        return request(url, addresses, call, {
          signal,
          read: (answer) => readStatus(answer, answerBytes),
        });
      }),
    refuses: (url) => guard.refuses(hostOf(url)),
  };
}

/** Returns the host of a URL; an IP address is without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

type Call = Pick<WebhookCall, 'method' | 'headers' | 'body'>;

/** Runs `call` with a signal that aborts at the deadline. */
async function inTime(
  ms: number,
  call: (signal: AbortSignal) => Promise<WebhookOutcome>,
): Promise<WebhookOutcome> {
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // A lookup ignores the signal, so its result may come after the deadline.
  const late = new Promise<WebhookOutcome>((done) => {
    timer = setTimeout(() => {
      done({ kind: 'timeout' });
      deadline.abort();
    }, ms);
  });
  try {
    return await Promise.race([call(deadline.signal).catch(failed), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Parses a URL, and refuses a URL with a user name. The user name may be a credential of the
 * receiver, or come from a value that changes the host of the template: `https://shop.example`
 * followed by `@evil.example`.
 * @throws Refusal
 */
function readUrl(written: string, base?: URL): URL {
  if (!URL.canParse(written, base?.href)) throw new Refusal('The address is not a URL.');
  const url = new URL(written, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Refusal('Only http and https addresses can be called.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('A URL must not contain a user name. Use the header Authorization.');
  }
  return url;
}

/** Returns the headers of a request with its signature, which covers the bytes of the body. */
function signed({ headers, body }: Call, { deliveryId, secret, timestamp }: WebhookAttempt) {
  const signature = createHmac('sha256', secret)
    .update(`${timestamp}.${body ?? ''}`)
    .digest('hex');
  // Header lines consist of bytes, and receivers expect UTF-8.
  const encoded = Object.entries(headers).map(([name, value]) => [
    name,
    Buffer.from(value).toString('latin1'),
  ]);
  return {
    ...(Object.fromEntries(encoded) as Record<string, string>),
    'User-Agent': 'Everpost/1',
    'Everpost-Delivery': deliveryId,
    'Everpost-Signature': `t=${timestamp},v1=${signature}`,
  };
}

/**
 * Returns the request after a redirect, as browsers do (Fetch standard, HTTP-redirect fetch). After
 * 303, and after 301 and 302 for POST, the request is a GET without a body. For another origin, the
 * step's own headers except the content type are dropped, because any of them may be a credential.
 * The signature stays: the receiver needs it to trust the request, and cannot use it for anything
 * else.
 */
function redirected(
  call: Call,
  statusCode: number,
  { isForeign, isSecret = false }: { isForeign: boolean; isSecret?: boolean | undefined },
): Call {
  const becomesGet =
    (statusCode === 303 && call.method !== 'GET') ||
    ((statusCode === 301 || statusCode === 302) && call.method === 'POST');
  const isDropped = (name: string) =>
    (isForeign && (isSecret || name.toLowerCase() !== 'content-type')) ||
    (becomesGet && /^content-/i.test(name));
  const headers = Object.entries(call.headers).filter(([name]) => !isDropped(name));
  return {
    ...(becomesGet ? { method: 'GET', body: null } : { method: call.method, body: call.body }),
    headers: Object.fromEntries(headers),
  };
}

async function readOrRedirect(
  answer: IncomingMessage,
): Promise<WebhookOutcome | { statusCode: number; location: string }> {
  const { statusCode = 0, headers } = answer;
  const { location } = headers;
  if (location !== undefined && [301, 302, 303, 307, 308].includes(statusCode)) {
    return { statusCode, location: asWritten(location) };
  }
  return answered(answer, await readBody(answer, answerBytesMax));
}

/** Percent-encodes the bytes of a header that are not ASCII. Their encoding does not matter. */
function asWritten(location: string): string {
  // Node.js returns each byte of a header as one character.
  return location.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`);
}

const nothing: Body = { bytes: Buffer.alloc(0), isCut: false };

/** Reads the status of a response, and its text if the status is not 2xx. */
async function readStatus(answer: IncomingMessage, bytes: number): Promise<WebhookOutcome> {
  const { statusCode = 0 } = answer;
  const isWell = statusCode >= 200 && statusCode <= 299;
  return answered(answer, isWell ? nothing : await readBeginning(answer, bytes));
}

function answered({ statusCode = 0, headers }: IncomingMessage, body: Body): WebhookOutcome {
  const contentType = headers['content-type'] ?? null;
  return {
    kind: 'answered',
    statusCode,
    contentType,
    retryAfter: headers['retry-after'] ?? null,
    text: textOf(body, contentType),
    isCut: body.isCut,
  };
}

/** Sends one request to one of these addresses. The host name is not resolved again. */
async function request<Read>(
  url: URL,
  addresses: LookupAddress[],
  { method, headers, body }: Call,
  given: { signal: AbortSignal; read: (answer: IncomingMessage) => Promise<Read> },
): Promise<Read> {
  const refused = Object.keys(headers).find((name) => connectionHeaders.has(name.toLowerCase()));
  if (refused !== undefined)
    throw new Refusal(`The header ${refused} is set by the connection. Remove it.`);
  const options = {
    method,
    headers,
    body,
    signal: given.signal,
    // Certificates are always checked, even with NODE_TLS_REJECT_UNAUTHORIZED. The name that must
    // match is the host of the URL.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    // Node.js calls this function only for host names. Connections to IP addresses, which were
    // checked before, need no lookup.
    lookup: ((_hostname, _options, done) => done(null, addresses)) satisfies LookupFunction,
  };
  return exchange(url, options, given.read);
}

/** Milliseconds for reading the beginning of a response, which is only shown to people. */
const beginningMs = 500;

/**
 * Reads as much of a response as arrives in time. Only the status determines the outcome, not the
 * body.
 */
async function readBeginning(answer: IncomingMessage, bytes: number): Promise<Body> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Body>((done) => {
    timer = setTimeout(() => done(nothing), beginningMs);
  });
  try {
    return await Promise.race([readBody(answer, bytes).catch(() => nothing), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Error codes of Node.js for a request that cannot be written. */
const unsendable = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN', 'ERR_INVALID_URL']);

function failed(error: unknown): WebhookOutcome {
  if (error instanceof AddressRefused) return { kind: 'refused', error: error.message };
  // When several addresses fail, the error has a code but no message.
  const { message, code } = error as Error & { code?: string };
  if (unsendable.has(code ?? '')) {
    return { kind: 'refused', error: `The request cannot be sent: ${message}` };
  }
  return { kind: 'unreachable', error: message || code || String(error) };
}
