import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

/** Connects to Temporal. */

export interface TemporalSettings {
  address: string;
  namespace: string;
  apiKey: string | null;
  /** PEM texts. */
  tlsCert: string | null;
  tlsKey: string | null;
  tlsCa: string | null;
}

/** Longest wait for a response from Temporal before a call fails, in milliseconds. */
const callTimeoutMs = 5_000;

/** Calls that must fail quickly when the server is unavailable, because others wait behind them. */
const promptCalls = new Set([
  'DescribeNamespace',
  'DescribeTaskQueue',
  'DescribeWorkflowExecution',
  'RequestCancelWorkflowExecution',
  'SignalWithStartWorkflowExecution',
  'SignalWorkflowExecution',
  'StartWorkflowExecution',
]);

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * Sets the deadline of these calls. `client.withDeadline` would use an AsyncLocalStorage: once that
 * is used, Node.js calls a hook for every promise of the process, a tenth of what a request costs
 * the API.
 */
const deadlines: Interceptor = (options, nextCall) => {
  const name = options.method_definition.path.split('/').at(-1) ?? '';
  const deadline = promptCalls.has(name) ? { deadline: Date.now() + callTimeoutMs } : {};
  // The type wants the class, but the library needs only its interface.
  return nextCall({ ...options, ...deadline }) as ReturnType<Interceptor>;
};

/**
 * The errors that are retried. A message too large for gRPC is not retried, because others wait
 * behind it.
 */
const retries = defaultGrpcRetryOptions();
const retryOptions: typeof retries = {
  ...retries,
  retryableDecider: (attempt, status) =>
    !status.details.includes('message larger than max') &&
    retries.retryableDecider(attempt, status),
};

/** Connection options for a client or a worker. */
export function connectionOptions(settings: TemporalSettings) {
  const { tlsCert, tlsKey, tlsCa } = settings;
  const tls = {
    ...(tlsCa ? { serverRootCACertificate: Buffer.from(tlsCa) } : {}),
    ...(tlsCert && tlsKey
      ? { clientCertPair: { crt: Buffer.from(tlsCert), key: Buffer.from(tlsKey) } }
      : {}),
  };
  return {
    address: settings.address,
    ...(settings.apiKey ? { apiKey: settings.apiKey } : {}),
    ...(Object.keys(tls).length > 0 ? { tls } : settings.apiKey ? { tls: true } : {}),
  };
}

export interface Temporal {
  client: Client;
  /** True when the server responds. */
  answers(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * A connection without the AsyncLocalStorage in which the library keeps the namespace of each call.
 * All calls of a process have the same namespace, so `deadlines` sends it with every call.
 */
class PlainConnection extends Connection {
  override withMetadata<T>(_metadata: unknown, call: () => Promise<T>): Promise<T> {
    return call();
  }
}

/** Creates a client that connects on first use: Temporal may be unavailable when we start. */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const connection = PlainConnection.lazy({
    ...connectionOptions(settings),
    metadata: { 'temporal-namespace': settings.namespace },
    // One deadline covers a call and its retries.
    interceptors: [deadlines, makeGrpcRetryInterceptor(retryOptions)],
  });
  const client = new Client({ connection, namespace: settings.namespace });
  return {
    client,
    answers: () =>
      connection.workflowService.describeNamespace({ namespace: settings.namespace }).then(
        () => true,
        () => false,
      ),
    close: () => connection.close(),
  };
}
