import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createApp } from '../../api/app.ts';
import { createLog } from '../../api/http/log.ts';
import { serverOptions } from '../../api/serve.ts';
import { composeApi } from '../../compose.ts';
import type { Services } from '../../api/services/services.ts';
import { readConfig } from '../../config.ts';
import { type Database, openDatabase } from '../../db/database.ts';
import { watchDatabase } from '../../db/watch.ts';
import { connectTemporal, type Temporal } from '../../workflows/client/connection.ts';
import { requireDocumented } from './documented.ts';
import { createTestDatabase } from './servers.ts';
import { watchLog, type WatchedLog } from './watched-log.ts';
import { listen, use } from './use.ts';

export interface TestRequest {
  /** Sent as `Authorization: Bearer …`. */
  key?: string;
  /** Sent as `Cookie`. */
  cookie?: string;
  headers?: Record<string, string>;
  /** Text and bytes are sent unchanged, any other value as JSON. */
  body?: unknown;
}

export interface TestAnswer {
  status: number;
  headers: Headers;
  /** The parsed JSON, or the text of any other content type. */
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface TestApi {
  url: string;
  db: Database;
  services: Services;
  /** Ids of the runs that were to be started or signalled, oldest first; empty with `temporal`. */
  dispatched: string[];
  /**
   * All log entries; `close` fails when one contains a key, a password, a cookie or a mail body.
   */
  log: WatchedLog;
  request(method: string, path: string, request?: TestRequest): Promise<TestAnswer>;
  /** Creates a user. The returned cookie can be sent with requests. */
  signUp(email?: string): Promise<{ cookie: string; userId: string; email: string }>;
  /** Creates a project of the user of `cookie`, with both keys. */
  createProject(
    cookie: string,
    name?: string,
  ): Promise<{ id: string; publicKey: string; secretKey: string }>;
  close(): Promise<void>;
}

/** Like `startTestApi`; the API is closed at the end of the test or of the file. */
export const useApi = async (...settings: Parameters<typeof startTestApi>) =>
  use(await startTestApi(...settings));

/**
 * Starts the real API on a free port of this machine with its own database: local mail mode, no
 * request limits, no request log. `overrides` are environment variables by name, in which `{port}`
 * is the port of the API. Without `temporal`, nothing is sent to Temporal.
 */
export async function startTestApi(
  overrides: Record<string, string> = {},
  temporal?: Temporal,
): Promise<TestApi> {
  const database = await createTestDatabase();
  const server = createServer(serverOptions);
  const { url, port, close } = await listen(server);
  const dispatched: string[] = [];
  const log = watchLog();
  const { services, closeDatabase } = startServices(dispatched, temporal, log, {
    JWT_SECRET: 'a secret of thirty-two characters or more',
    DATABASE_POOL_MAX: '10',
    DATABASE_URL: database.url,
    API_URL: url,
    RATE_LIMIT_ENABLED: 'false',
    LOG_LEVEL: 'trace',
    JOURNAL_DIR: '',
    REQUEST_LOG_DAYS: '0',
    ...Object.fromEntries(
      Object.entries(overrides).map(([name, value]) => [
        name,
        value.replace('{port}', String(port)),
      ]),
    ),
  });
  server.on('request', createApp(services).callback());
  const request = requester(url, log);
  return {
    url,
    db: services.db,
    services,
    dispatched,
    log,
    request,
    signUp: (email) => signUp(request, email ?? `${randomUUID()}@users.test`),
    createProject: (cookie, name = 'My shop') => createProject(request, cookie, name),
    async close() {
      await close();
      await closeDatabase();
      await database.drop();
      log.check();
    },
  };
}

function startServices(
  dispatched: string[],
  temporal: Temporal | undefined,
  watched: WatchedLog,
  environment: Record<string, string>,
): { services: Services; closeDatabase: () => Promise<void> } {
  const config = readConfig(environment);
  const database = openDatabase(config.databaseUrl, {
    poolMax: config.databasePoolMax,
    timeouts: config.databaseTimeouts.api,
  });
  const watch = watchDatabase(config.databaseUrl);
  const log = createLog(config, watched.stream);
  const recording: Partial<Services> = {
    dispatcher: {
      dispatch: (runs) => void dispatched.push(...runs.map(({ runId }) => runId)),
      dispatchOverdue: async () => {},
      watch: () => {},
      startNow: async () => null,
      close: async () => {},
    },
    temporalAnswers: async () => true,
    background: async () => 'ok',
  };
  const services = composeApi(
    { config, database, watch, temporal: temporal ?? connectTemporal(config.temporal), log },
    temporal ? {} : recording,
  );
  return {
    services,
    async closeDatabase() {
      await services.settler.close();
      await services.renderer.close();
      await services.drawer.close();
      await services.dkim.close();
      await watch.close();
      await database.close();
    },
  };
}

/** Fields of a request body that must not be logged. */
interface SecretFields {
  body?: unknown;
  password?: unknown;
  newPassword?: unknown;
}

function requester(url: string, log: WatchedLog): TestApi['request'] {
  return async (method, path, { key, cookie, headers = {}, body } = {}) => {
    const secret = (body ?? {}) as SecretFields;
    log.mustNotTell(key, cookie?.split('=')[1], secret.body, secret.password, secret.newPassword);
    const raw = typeof body === 'string' || body instanceof Uint8Array;
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(cookie === undefined ? {} : { Cookie: cookie }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    const answered = isJson && text !== '' ? JSON.parse(text) : text;
    requireDocumented(method, path, response, answered?.error?.code);
    return { status: response.status, headers: response.headers, body: answered };
  };
}

async function signUp(request: TestApi['request'], email: string) {
  const made = await request('POST', '/auth/signup', { body: { email, password: 'a password' } });
  succeeded(made, 200);
  return { cookie: cookieOf(made), userId: made.body.data.id as string, email };
}

async function createProject(request: TestApi['request'], cookie: string, name: string) {
  const made = await request('POST', '/users/@me/projects', { cookie, body: { name } });
  succeeded(made, 201);
  const { id, public: publicKey, secret: secretKey } = made.body as Record<string, string>;
  return { id, publicKey, secretKey } as { id: string; publicKey: string; secretKey: string };
}

/** Returns status and code of an error response. */
export const codeOf = ({ status, body }: TestAnswer) => [status, body.error?.code];

/** Returns the `Cookie` header that repeats the cookie set by a response. */
export function cookieOf({ headers }: TestAnswer): string {
  const [cookie = ''] = (headers.getSetCookie()[0] ?? '').split(';');
  return cookie;
}

function succeeded({ status, body }: TestAnswer, expected: number): void {
  if (status === expected) return;
  throw new Error(`Answered ${status} instead of ${expected}: ${JSON.stringify(body)}`);
}
