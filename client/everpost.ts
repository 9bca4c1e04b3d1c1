import type { Api, ErrorAnswer } from './api.ts';
import { EverpostError } from './error.ts';

export { EverpostError } from './error.ts';
export type * from './api.ts';

export interface EverpostOptions {
  /** The URL of the API: `https://mail.example.com`. */
  baseUrl: string;
  /** A secret key (`sk_…`) for all endpoints, or a public key (`pk_…`) only for `/v1/track`. */
  apiKey?: string;
  /**
   * Maximum number of retries of a request. Default: 3. A request is retried only if the retry
   * cannot do the work twice.
   */
  retries?: number;
  /** Timeout of one attempt, in milliseconds. Default: 30,000. */
  timeoutMs?: number;
  /** True: the server refuses unknown keys. Default: the server ignores unknown keys. */
  strict?: boolean;
  /**
   * Replaces the global `fetch`, for example to use a proxy, or in a test. An `EverpostError` that it
   * throws becomes the error of the call.
   */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the request: a pause before a retry ends at once, and no retry follows. */
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

type Method = keyof Api;
interface Shape {
  request: object;
  answer: unknown;
}
type Request<E> = E extends Shape ? E['request'] & CallOptions : never;
type Answer<E> = E extends Shape ? E['answer'] : never;
/** The argument for a path: its request. Optional if all fields of the request are optional. */
type Given<E> = object extends Request<E> ? [request?: Request<E>] : [request: Request<E>];

interface Page<Item> {
  data: Item[];
  cursor?: string;
  hasMore: boolean;
}
/** The paths that return one page of a list, and the cursor of the next page. */
export type ListPath = {
  [P in keyof Api['get']]: Api['get'][P] extends { answer: Page<unknown> } ? P : never;
}[keyof Api['get']];
type ItemOf<P extends ListPath> = Api['get'][P] extends { answer: Page<infer Item> } ? Item : never;

/** A request without the types of its path. */
interface AnyRequest extends CallOptions {
  path?: Record<string, string | number>;
  query?: Record<string, unknown>;
  body?: unknown;
  idempotencyKey?: string;
  ifMatch?: string;
}

/** The ETag of each response that has an ETag. */
const etags = new WeakMap<object, string>();

/**
 * Returns the ETag of a response, for `ifMatch` of a later change. The change is refused with the
 * code PRECONDITION_FAILED if the record has changed in the meantime.
 * @param response as a method has returned it, not a copy
 * @throws TypeError if the response has no ETag
 */
export function etagOf(response: object): string {
  const etag = etags.get(response);
  if (etag === undefined) throw new TypeError('This object is not a response with an ETag.');
  return etag;
}

/**
 * Maximum pause before a retry, in seconds. A rate limit counts requests in a window of this
 * length. If the server requests a longer pause, the caller gets the error.
 */
const longestPause = 60;

/**
 * The API of an Everpost server, typed by path. A method returns the API's response, and throws an
 * `EverpostError` for an error or a missing response.
 */
export class Everpost {
  readonly #baseUrl: string;
  readonly #apiKey: string | undefined;
  readonly #retries: number;
  readonly #timeoutMs: number;
  readonly #strict: boolean;
  readonly #fetch: NonNullable<EverpostOptions['fetch']>;

  constructor({
    baseUrl,
    apiKey,
    retries = 3,
    timeoutMs = 30_000,
    strict = false,
    fetch,
  }: EverpostOptions) {
    this.#baseUrl = baseUrl.endsWith('/') ? baseUrl.slice(0, -1) : baseUrl;
    this.#apiKey = apiKey;
    this.#retries = retries;
    this.#timeoutMs = timeoutMs;
    this.#strict = strict;
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
  }

  get<P extends keyof Api['get']>(
    path: P,
    ...[request]: Given<Api['get'][P]>
  ): Promise<Answer<Api['get'][P]>> {
    return this.#call('get', path, request);
  }

  post<P extends keyof Api['post']>(
    path: P,
    ...[request]: Given<Api['post'][P]>
  ): Promise<Answer<Api['post'][P]>> {
    return this.#call('post', path, request);
  }

  put<P extends keyof Api['put']>(
    path: P,
    ...[request]: Given<Api['put'][P]>
  ): Promise<Answer<Api['put'][P]>> {
    return this.#call('put', path, request);
  }

  patch<P extends keyof Api['patch']>(
    path: P,
    ...[request]: Given<Api['patch'][P]>
  ): Promise<Answer<Api['patch'][P]>> {
    return this.#call('patch', path, request);
  }

  delete<P extends keyof Api['delete']>(
    path: P,
    ...[request]: Given<Api['delete'][P]>
  ): Promise<Answer<Api['delete'][P]>> {
    return this.#call('delete', path, request);
  }

  /** Yields all items of a list with a cursor, and requests each page when it is needed. */
  async *list<P extends ListPath>(
    path: P,
    ...[request]: Given<Api['get'][P]>
  ): AsyncGenerator<ItemOf<P>, void, undefined> {
    const { query, ...rest } = (request ?? {}) as AnyRequest;
    let cursor = query?.['cursor'];
    for (;;) {
      const page: Page<ItemOf<P>> = await this.#call('get', path, {
        ...rest,
        query: { ...query, cursor },
      });
      yield* page.data;
      if (!page.hasMore || page.cursor === undefined) return;
      ({ cursor } = page);
    }
  }

  /** Sends a request, and retries while a retry cannot do the work twice and may succeed. */
  async #call<T>(method: Method, path: string, request: AnyRequest = {}): Promise<T> {
    const { signal, idempotencyKey } = request;
    const url = this.#baseUrl + filled(path, request.path ?? {}) + queryOf(request.query ?? {});
    const isSafe = method === 'get' || idempotencyKey !== undefined;
    for (let repeats = 0; ; repeats++) {
      try {
        return (await this.#try(method, url, request)) as T;
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof EverpostError) || repeats >= this.#retries) throw error;
        if (!mayBeRepeated(error, isSafe)) throw error;
        // The pause is random, between half and all of 0.5, 1, 2, … seconds, so that not all
        // clients retry at the same time.
        const pause = error.retryAfter ?? 2 ** repeats * (0.25 + Math.random() / 4);
        if (pause > longestPause) throw error;
        await rest(pause, signal);
      }
    }
  }

  /** Makes one attempt. The timeout includes reading the response. */
  async #try(method: Method, url: string, request: AnyRequest): Promise<unknown> {
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const signal = request.signal ? AbortSignal.any([request.signal, limit]) : limit;
    let response: Response;
    let text: string;
    try {
      const init = { method: method.toUpperCase(), ...this.#content(request), signal };
      // Redirects are not followed, because they would turn a POST into a GET, or send the key to
      // another server.
      response = await this.#fetch(url, { ...init, redirect: 'manual' });
      text = await response.text();
    } catch (cause) {
      if (cause instanceof EverpostError) throw cause;
      const code = limit.aborted ? 'TIMEOUT' : 'CONNECTION_FAILED';
      const reason = limit.aborted
        ? `no answer within ${this.#timeoutMs} ms`
        : `no answer${reasonOf(cause)}`;
      throw new EverpostError(`${method.toUpperCase()} ${url}: ${reason}`, { code }, { cause });
    }
    const { body, isBroken } = bodyOf(response, text);
    if (response.ok && !isBroken) {
      const etag = response.headers.get('etag');
      if (etag !== null && typeof body === 'object' && body !== null) etags.set(body, etag);
      return body;
    }
    throw EverpostError.of(response, body as Partial<ErrorAnswer> | string | undefined);
  }

  #content({ body, idempotencyKey, ifMatch, headers }: AnyRequest) {
    const isForm = body instanceof FormData;
    return {
      headers: {
        ...(this.#apiKey === undefined ? {} : { authorization: `Bearer ${this.#apiKey}` }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
        // For a form, `fetch` sets the content type itself, with the boundary of the parts.
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...(this.#strict ? { prefer: 'handling=strict' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    };
  }
}

/**
 * Returns true if a retry may succeed, and cannot do the work twice. A request over a rate limit
 * has done nothing. After a lost response or a server error, the work may be done.
 * @param isSafe true if the server does the work only once: for a GET, and for a request with an
 * `Idempotency-Key`
 */
function mayBeRepeated({ status, code }: EverpostError, isSafe: boolean): boolean {
  if (status === 429) return true;
  // A successful response that cannot be read counts as lost, too.
  const isLost = status === 0 || (status < 300 && code === 'UNEXPECTED_ANSWER');
  return isSafe && (isLost || status >= 500 || code === 'IDEMPOTENCY_IN_PROGRESS');
}

/**
 * Returns the code of the error that caused `fetch failed`, in brackets; '' if there is no code.
 * The code becomes part of the message, because a log often keeps only the message.
 */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? ` (${cause.code})` : '';
}

/**
 * Returns the path with its parameters filled in.
 * @throws TypeError when a parameter is missing, or would lead to another path.
 */
function filled(path: string, values: Record<string, string | number>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    const isText = typeof value === 'string' && !['', '.', '..'].includes(value);
    if (!isText && typeof value !== 'number') {
      throw new TypeError(
        `${path}: ${name} must be a number or a text other than "", "." and "..", ` +
          `not ${JSON.stringify(value)}.`,
      );
    }
    return encodeURIComponent(value);
  });
}

function queryOf(values: Record<string, unknown>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  );
  return given.length === 0 ? '' : `?${query.toString()}`;
}

/**
 * Returns the parsed JSON; the text of any other content; undefined without content. `isBroken`:
 * the JSON cannot be parsed, for example because a proxy has truncated it.
 */
function bodyOf({ headers }: Response, text: string): { body?: unknown; isBroken?: true } {
  if (text === '') return {};
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
  if (!isJson) return { body: text };
  try {
    return { body: JSON.parse(text) as unknown };
  } catch {
    return { body: text, isBroken: true };
  }
}

/**
 * Resolves after this number of seconds; rejects at once, with the reason, when the signal is
 * aborted.
 */
function rest(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
