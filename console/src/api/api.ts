import { type ErrorAnswer, Everpost, EverpostError } from '../../../client/everpost.ts';

export { etagOf, EverpostError } from '../../../client/everpost.ts';
export type * from '../../../client/api.ts';

/** Idempotency keys of requests whose response was lost, by request. */
const lostKeys = new Map<string, string>();

/** Returns 16 random bytes in hex. Pages without HTTPS have no `crypto.randomUUID`. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Sends a request with the browser's session. If the API demands a recent sign-in, asks the user
 * for proof and repeats the request. A refused request had no effect, so the repeat is safe.
 */
function senderFor(projectId: string | null) {
  const send = sendOnceFor(projectId);
  return async (url: string, init: RequestInit): Promise<Response> => {
    const response = await send(url, init);
    if (response.status === 401) await noticeEnd(url, response);
    const methods = await neededProofs(response);
    if (methods === null || !(await proveOnce(methods))) return response;
    // The abort signal of `init` may have timed out while the user was asked.
    return send(url, { ...init, signal: AbortSignal.timeout(30_000) });
  };
}

/**
 * Sends a request once. A POST gets an `Idempotency-Key`. If its response is lost, the next POST
 * with the same content gets the same key, so the server does the work once.
 */
function sendOnceFor(projectId: string | null) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (projectId !== null) headers.set('x-project-id', projectId);
    const request = { ...init, headers, credentials: 'same-origin' } as const;
    if (init.method !== 'POST' || headers.has('idempotency-key')) return fetch(url, request);
    const same = `${projectId} ${url} ${typeof init.body === 'string' ? init.body : randomId()}`;
    const key = lostKeys.get(same) ?? randomId();
    headers.set('idempotency-key', key);
    lostKeys.set(same, key);
    const response = await fetch(url, request);
    if (response.status < 500) lostKeys.delete(same);
    return response;
  };
}

let onSessionEnd = () => {};

/** Sets what happens when a request shows that the session has ended. */
export function setOnSessionEnd(act: () => void): void {
  onSessionEnd = act;
}

async function errorIn(response: Response): Promise<Partial<ErrorAnswer['error']>> {
  const body: Partial<ErrorAnswer> = await response
    .clone()
    .json()
    .catch(() => ({}));
  return body.error ?? {};
}

/**
 * Calls `onSessionEnd` if a response shows that the session has ended. A refused sign-in is
 * ignored.
 */
async function noticeEnd(url: string, response: Response): Promise<void> {
  const isSignIn = new URL(url).pathname.startsWith('/auth/');
  if (!isSignIn && (await errorIn(response)).code === 'UNAUTHORIZED') onSessionEnd();
}

type AskForProof = (methods: readonly string[]) => Promise<boolean>;

let askForProof: AskForProof = async () => false;

/**
 * Sets the function that asks the user for proof of identity by one of these methods: `password`,
 * `totp`, `passkey`, `github`, `google` or `oidc:<id>`. The function returns true if the user has
 * given the proof.
 */
export function setAskForProof(ask: AskForProof): void {
  askForProof = ask;
}

let asking: Promise<boolean> | null = null;

/**
 * Asks the user for proof. If several requests are refused at the same time, the user is asked
 * once.
 */
function proveOnce(methods: readonly string[]): Promise<boolean> {
  asking ??= askForProof(methods).finally(() => {
    asking = null;
  });
  return asking;
}

/**
 * Returns the methods of proof if a request was refused for lack of a recent sign-in, else null.
 */
async function neededProofs(response: Response): Promise<string[] | null> {
  if (response.status !== 403) return null;
  const { code, details } = await errorIn(response);
  return code === 'REAUTHENTICATION_REQUIRED' ? ((details?.['methods'] ?? []) as string[]) : null;
}

/** The client retries nothing. TanStack Query repeats reads, and only the user repeats writes. */
const clientFor = (projectId: string | null) =>
  new Everpost({
    baseUrl: location.origin,
    retries: 0,
    strict: true,
    fetch: senderFor(projectId),
  });

/** The API for requests without a project: accounts and the list of projects. */
export const accountApi = clientFor(null);

const clients = new Map<string, Everpost>();

/** Returns the API for requests in one project. */
export function apiOf(projectId: string): Everpost {
  const client = clients.get(projectId) ?? clientFor(projectId);
  clients.set(projectId, client);
  return client;
}

/**
 * Requests a file of a project from an endpoint whose response is not JSON. Sends a POST if there
 * is a body, else a GET.
 */
export async function readFile(projectId: string, path: string, body?: object): Promise<Blob> {
  const init =
    body === undefined
      ? { method: 'GET' }
      : {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        };
  const response = await senderFor(projectId)(`${location.origin}${path}`, init).catch(() => {
    throw new EverpostError(`${init.method} ${path}: no answer`, { code: 'CONNECTION_FAILED' });
  });
  if (response.ok) return response.blob();
  throw EverpostError.of(response, (await response.json()) as ErrorAnswer);
}

/** Returns true if the request had no answer at all. */
export function isLost(error: unknown): boolean {
  return error instanceof EverpostError && error.status === 0;
}
