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
  /** Id by which the receiver recognizes repeats, the same for every attempt. */
  deliveryId: string;
  secret: string;
  /** Unix seconds. */
  timestamp: number;
  /**
   * True if the body contains credentials. Then body and content type are sent only to the origin
   * of the address. Default: false.
   */
  bodyIsSecret?: boolean;
}

export interface WebhookSender {
  /**
   * Calls the receiver once, following at most 5 redirects. Network errors are results, never
   * rejections. No connection is reused: each request is checked and connected anew.
   */
  send(attempt: WebhookAttempt): Promise<WebhookOutcome>;
  /**
   * Sends one POST with exactly these headers, and follows no redirect. It ends with the response's
   * headers. If the status is not 2xx, it also reads the beginning of the body.
   */
  post(request: PostRequest): Promise<WebhookOutcome>;
  /** Returns true if the host is an IP address, in any spelling, that the guard refuses. */
  refuses(url: URL): boolean;
}

export interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Maximum number of bytes of the response's body that are read. */
  answerBytes: number;
}

export interface WebhookSenderSettings {
  /** Milliseconds for lookups, connections, redirects and the response together. */
  timeoutMs: number;
  /** Turns the address guard off (development). */
  allowPrivate: boolean;
  /** Allows this machine's own addresses as well (development). Default: false. */
  allowLoopback?: boolean;
  /** Returns all addresses of a host name. Default: the system's resolver. */
  lookup?: (hostname: string) => Promise<LookupAddress[]>;
  /** Returns true if an address may be called. Default: those of the public Internet. */
  isPublic?: (address: string) => boolean;
}

const redirectsMax = 5;
const answerBytesMax = 64 * 1024;
/**
 * Milliseconds for a connection to one address of a host before the next is tried. Node's default,
 * 250, is too short for distant receivers.
 */
const nextAddressMs = 1_000;

/** The request must not be sent. A retry will not help. */
class Refusal extends AddressRefused {}

/**
 * Calls receivers on the public Internet only. For each request, also after a redirect, the host is
 * resolved once, its addresses are checked, and the connection goes to one of them.
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
        throw new Refusal('The receiver redirected a body with a secret to another origin.');
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

/** Returns the host of a URL, an IP address without brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}

type Call = Pick<WebhookCall, 'method' | 'headers' | 'body'>;

/** Runs `call` with a signal that ends it at the deadline. */
async function inTime(
  ms: number,
  call: (signal: AbortSignal) => Promise<WebhookOutcome>,
): Promise<WebhookOutcome> {
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // A lookup ignores the signal, so its result may come too late.
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
 * Reads a URL, and refuses one with a user name. The user name may be credentials of the receiver. Or
 * a value may have replaced the template's host (`https://shop.example` + `@evil.example`).
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

/** Returns the headers of a request. The signature covers the bytes of this request. */
function signed({ headers, body }: Call, { deliveryId, secret, timestamp }: WebhookAttempt) {
  const signature = createHmac('sha256', secret)
    .update(`${timestamp}.${body ?? ''}`)
    .digest('hex');
  // Header lines are bytes; receivers expect UTF-8.
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
 * Returns the request after a redirect, as browsers send it (Fetch standard, HTTP-redirect fetch):
 * 303, and 301 and 302 after POST, become GET without a body.
 *
 * For another origin, the step's own headers are dropped except the content type, because any of
 * them may be a credential. The signature is kept, because the receiver needs it to trust the
 * request, and cannot use it for anything else.
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

/** Percent-encodes the bytes of a header that are not ASCII, whatever their encoding. */
function asWritten(location: string): string {
  // Node.js reads each byte of a header as a character.
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

/** Sends one request to one of these addresses. The name is not resolved again. */
async function request<Read>(
  url: URL,
  addresses: LookupAddress[],
  { method, headers, body }: Call,
  given: { signal: AbortSignal; read: (answer: IncomingMessage) => Promise<Read> },
): Promise<Read> {
  const refused = Object.keys(headers).find((name) => connectionHeaders.has(name.toLowerCase()));
  if (refused !== undefined) throw new Refusal(`The header ${refused} cannot be sent.`);
  const options = {
    method,
    headers,
    body,
    signal: given.signal,
    // Not even NODE_TLS_REJECT_UNAUTHORIZED disables this. The name checked is that of the URL.
    rejectUnauthorized: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    // Called for names only; a literal address was checked and is connected to as it is.
    lookup: ((_hostname, _options, done) => done(null, addresses)) satisfies LookupFunction,
  };
  return exchange(url, options, given.read);
}

/** Milliseconds for reading the beginning of a response that is only shown to people. */
const beginningMs = 500;

/** Reads as much of a response as has come in time: its status counts, not its body. */
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

/** Errors of Node.js for a request that it cannot write. */
const unsendable = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN', 'ERR_INVALID_URL']);

function failed(error: unknown): WebhookOutcome {
  if (error instanceof AddressRefused) return { kind: 'refused', error: error.message };
  // When several addresses fail, the error has a code and no message.
  const { message, code } = error as Error & { code?: string };
  if (unsendable.has(code ?? '')) {
    return { kind: 'refused', error: `The request cannot be sent: ${message}` };
  }
  return { kind: 'unreachable', error: message || code || String(error) };
}
