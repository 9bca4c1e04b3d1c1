import { createHmac } from 'node:crypto';
import { lookup as resolve } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { Client, errors, type Dispatcher } from 'undici';
import type { WebhookCall, WebhookOutcome } from '../../domain/workflow/webhook.ts';
import { isLoopbackAddress, isPublicAddress } from './address-guard.ts';

/** One attempt of a webhook. */
export interface WebhookAttempt extends WebhookCall {
  /** The receiver's deduplication key, the same for every attempt. */
  deliveryId: string;
  /** The secret that signs the request. */
  secret: string;
  /** Unix seconds. */
  timestamp: number;
  /** The body contains credentials: it may only go to the origin of the address. Default: false. */
  bodyIsSecret?: boolean;
}

export interface WebhookSender {
  /**
   * Calls the receiver once, following at most 5 redirects. Network errors are results, never
   * rejections. It keeps no connection: each request is checked and connected anew.
   */
  send(attempt: WebhookAttempt): Promise<WebhookOutcome>;
  /**
   * Sends one POST with these very headers, and follows nothing. It ends with the head of the answer;
   * of an answer that is not 2xx the beginning of the body is read, for as long as it may take.
   */
  post(request: PostRequest): Promise<WebhookOutcome>;
  /** Whether the host is an address, in any spelling, that the guard refuses. */
  refuses(url: URL): boolean;
}

export interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Bytes of the answer's body that are read. */
  answerBytes: number;
}

export interface WebhookSenderSettings {
  /** For lookups, connections, redirects and the response together. */
  timeoutMs: number;
  /** Turns the address guard off (development). */
  allowPrivate: boolean;
  /** Lets it reach this machine's own addresses, too (development). Default: false. */
  allowLoopback?: boolean;
  /** All addresses of a host name. Default: the system's resolver. */
  lookup?: (hostname: string) => Promise<LookupAddress[]>;
  /** Which addresses may be called. Default: those of the public Internet. */
  isPublic?: (address: string) => boolean;
}

const redirectsMax = 5;
const answerBytesMax = 64 * 1024;
/**
 * How long a connection to one address of a host may take before the next is tried. Node's 250 ms
 * would give up on distant receivers.
 */
const nextAddressMs = 1_000;

/** Refused by the guard: a retry will not help. */
class Refusal extends Error {}

/**
 * Calls receivers on the public Internet only: every host, at every redirect, is resolved once, its
 * addresses are checked, and the connection goes to one of those.
 */
export function createWebhookSender(settings: WebhookSenderSettings): WebhookSender {
  const { timeoutMs, allowPrivate } = settings;
  const lookup = settings.lookup ?? ((hostname) => resolve(hostname, { all: true }));
  const isPublic = settings.isPublic ?? isPublicAddress;
  const isAllowed = (address: string) =>
    isPublic(address) || (settings.allowLoopback === true && isLoopbackAddress(address));

  /**
   * The addresses to connect to. If one is not public, all are refused: an honest receiver has
   * none, and which one is used would be left to chance.
   * @throws Refusal
   */
  async function findAddresses({ hostname }: URL): Promise<LookupAddress[]> {
    const literal = hostname.replace(/^\[|\]$/g, '');
    const family = isIP(literal);
    const found = family ? [{ address: literal, family }] : await lookup(hostname);
    if (found.length === 0) throw new Error(`${hostname} has no address.`);
    if (allowPrivate || found.every(({ address }) => isAllowed(address))) return found;
    throw new Refusal(
      `${hostname} is not at a public address, and WEBHOOK_ALLOW_PRIVATE is not true.`,
    );
  }

  async function follow(attempt: WebhookAttempt, signal: AbortSignal): Promise<WebhookOutcome> {
    let url = readUrl(attempt.url);
    let call: Call = attempt;
    for (let redirects = 0; ; redirects += 1) {
      const addresses = await findAddresses(url);
      signal.throwIfAborted();
      const request = { ...call, headers: signed(call, attempt) };
      const read = readOrRedirect;
      const answer = await exchange(url, addresses, request, { timeoutMs, signal, read });
      if (!('location' in answer)) return answer;
      if (redirects === redirectsMax) {
        throw new Refusal(`The receiver redirected more than ${redirectsMax} times.`);
      }
      const next = readUrl(answer.location, url);
      const isForeign = next.origin !== url.origin;
      if (url.protocol === 'https:' && next.protocol === 'http:') {
        throw new Refusal('The receiver redirected from https to http.');
      }
      call = redirected(call, answer.statusCode, isForeign);
      if (isForeign && attempt.bodyIsSecret && call.body !== null) {
        throw new Refusal('The receiver redirected a body with a secret to another origin.');
      }
      url = next;
    }
  }

  return {
    send: (attempt) => inTime(timeoutMs, (signal) => follow(attempt, signal)),
    post: (request) =>
      inTime(timeoutMs, async (signal) => {
        const url = readUrl(request.url);
        const addresses = await findAddresses(url);
        signal.throwIfAborted();
        const { headers, body, answerBytes } = request;
        const call: Call = { method: 'POST', headers, body };
        return exchange(url, addresses, call, {
          timeoutMs,
          signal,
          read: (answer) => readStatus(answer, answerBytes),
        });
      }),
    refuses({ hostname }) {
      const literal = hostname.replace(/^\[|\]$/g, '');
      return isIP(literal) !== 0 && !allowPrivate && !isAllowed(literal);
    },
  };
}

type Call = Pick<WebhookCall, 'method' | 'headers' | 'body'>;

/** Runs `call` with a signal that ends it at the deadline. */
async function inTime(
  ms: number,
  call: (signal: AbortSignal) => Promise<WebhookOutcome>,
): Promise<WebhookOutcome> {
  const deadline = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  // A lookup cannot be stopped by the signal. Then its result comes too late.
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
 * A user name in a URL is refused, not dropped: it would be the receiver's credentials, or a value
 * that replaces the template's host (`https://shop.example` + `@evil.example`).
 * @throws Refusal
 */
function readUrl(written: string, base?: URL): URL {
  if (!URL.canParse(written, base?.href)) throw new Refusal('The address is not a URL.');
  const url = new URL(written, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new Refusal('Only http and https addresses can be called.');
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('An address must not hold a user name; use the header Authorization.');
  }
  return url;
}

/** The headers of a request; the signature covers the bytes of this request. */
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
 * The request after a redirect, as browsers send it (Fetch standard, HTTP-redirect fetch): 303, and
 * 301 and 302 after POST, turn into GET without a body. Another origin gets none of the step's own
 * headers but the content type: each of them may be a credential, whatever its name. It gets the
 * signature, which it needs to trust the request and cannot use for anything else.
 */
function redirected(call: Call, statusCode: number, isForeign: boolean): Call {
  const becomesGet =
    (statusCode === 303 && call.method !== 'GET') ||
    ((statusCode === 301 || statusCode === 302) && call.method === 'POST');
  const isDropped = (name: string) =>
    (isForeign && name.toLowerCase() !== 'content-type') || (becomesGet && /^content-/i.test(name));
  const headers = Object.entries(call.headers).filter(([name]) => !isDropped(name));
  return {
    ...(becomesGet ? { method: 'GET', body: null } : { method: call.method, body: call.body }),
    headers: Object.fromEntries(headers),
  };
}

type Body = { text: string; isCut: boolean };

/** Reads an answer, or where it leads to. */
async function readOrRedirect(
  answer: Dispatcher.ResponseData,
): Promise<WebhookOutcome | { statusCode: number; location: string }> {
  const { statusCode, headers, body } = answer;
  const location = headerOf(headers, 'location');
  if (location !== null && [301, 302, 303, 307, 308].includes(statusCode)) {
    return { statusCode, location };
  }
  return answered(answer, await readText(body, answerBytesMax));
}

/** Reads whether an answer is 2xx, else what it says. */
async function readStatus(answer: Dispatcher.ResponseData, bytes: number): Promise<WebhookOutcome> {
  const isWell = answer.statusCode >= 200 && answer.statusCode <= 299;
  const nothing = { text: '', isCut: false };
  return answered(answer, isWell ? nothing : await readBeginning(answer.body, bytes));
}

function answered({ statusCode, headers }: Dispatcher.ResponseData, body: Body): WebhookOutcome {
  return {
    kind: 'answered',
    statusCode,
    contentType: headerOf(headers, 'content-type'),
    retryAfter: headerOf(headers, 'retry-after'),
    ...body,
  };
}

function headerOf(headers: Dispatcher.ResponseData['headers'], name: string): string | null {
  return [headers[name] ?? []].flat()[0] ?? null;
}

/** Sends one request to one of the addresses, whatever the name resolves to by now. */
async function exchange<Read>(
  url: URL,
  addresses: LookupAddress[],
  { method, headers, body }: Call,
  given: {
    timeoutMs: number;
    signal: AbortSignal;
    read: (answer: Dispatcher.ResponseData) => Promise<Read>;
  },
): Promise<Read> {
  const { timeoutMs, signal, read } = given;
  const client = new Client(url.origin, {
    // No keep-alive: the connection ends with the request.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      timeout: timeoutMs,
      // Not even NODE_TLS_REJECT_UNAUTHORIZED disables this. The name checked is that of the URL.
      rejectUnauthorized: true,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: nextAddressMs,
      // Called for names only; a literal address was checked and is connected to as it is.
      lookup: (_hostname, _options, done) => done(null, addresses),
    },
  });
  try {
    const path = url.pathname + url.search;
    const answer = await client.request({ path, method, headers, body, signal });
    return await read(answer);
  } finally {
    await client.destroy();
  }
}

/** How long the beginning of an answer may take that is only kept for people, in milliseconds. */
const beginningMs = 500;

/** The beginning of a response, as far as it has come by then: its status counts, not its body. */
async function readBeginning(body: Dispatcher.ResponseData['body'], bytes: number): Promise<Body> {
  let timer: NodeJS.Timeout | undefined;
  const nothing = { text: '', isCut: true };
  const late = new Promise<Body>((done) => {
    timer = setTimeout(() => done(nothing), beginningMs);
  });
  try {
    return await Promise.race([readText(body, bytes).catch(() => nothing), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The first bytes of a response; a character cut in two is left out. */
async function readText(body: Dispatcher.ResponseData['body'], bytesMax: number): Promise<Body> {
  const decoder = new TextDecoder();
  let text = '';
  let room = bytesMax;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk.subarray(0, room), { stream: true });
    room -= chunk.length;
    if (room <= 0) return { text, isCut: true };
  }
  return { text: text + decoder.decode(), isCut: false };
}

function failed(error: unknown): WebhookOutcome {
  if (error instanceof errors.ConnectTimeoutError) return { kind: 'timeout' };
  if (error instanceof Refusal) return { kind: 'refused', error: error.message };
  if (error instanceof errors.InvalidArgumentError || error instanceof errors.NotSupportedError) {
    return { kind: 'refused', error: `The request cannot be sent: ${error.message}` };
  }
  // When several addresses fail, the error has a code and no message.
  const { message, code } = error as Error & { code?: string };
  return { kind: 'unreachable', error: message || code || String(error) };
}
