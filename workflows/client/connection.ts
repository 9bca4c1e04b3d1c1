import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

export interface TemporalSettings {
  address: string;
  namespace: string;
  apiKey: string | null;
  /** PEM texts; null: the setting is not used. */
  tlsCert: string | null;
  tlsKey: string | null;
  tlsCa: string | null;
}

/** Milliseconds that a call in `promptCalls` may take, including its retries. */
const callTimeoutMs = 5_000;

/**
 * Calls that must fail quickly when the server is unavailable, because other calls or requests wait
 * for them.
 */
const promptCalls = new Set([
  'DescribeNamespace',
  'DescribeTaskQueue',
  'DescribeWorkflowExecution',
  'ListSearchAttributes',
  'RequestCancelWorkflowExecution',
  'SignalWithStartWorkflowExecution',
  'SignalWorkflowExecution',
  'StartWorkflowExecution',
]);

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];

/**
 * Sets the deadline of `promptCalls`. `client.withDeadline` is not used, because it needs an
 * AsyncLocalStorage. With an AsyncLocalStorage, Node.js calls a hook for every promise of the
 * process, which takes a tenth of the API's time for a request.
 */
const deadlines: Interceptor = (options, nextCall) => {
  const name = options.method_definition.path.split('/').at(-1) ?? '';
  const deadline = promptCalls.has(name) ? { deadline: Date.now() + callTimeoutMs } : {};
  // TypeScript expects the class `InterceptingCall`, but the library uses only its methods.
  return nextCall({ ...options, ...deadline }) as ReturnType<Interceptor>;
};

/**
 * The errors after which a call is retried. A message that is too large for gRPC would fail again,
 * so it is not retried.
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
  answers(): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * A connection without the AsyncLocalStorage in which the library stores the namespace of each
 * call. All calls of a process have the same namespace, so `connectTemporal` sets it for the whole
 * connection.
 */
class PlainConnection extends Connection {
  override withMetadata<T>(_metadata: unknown, call: () => Promise<T>): Promise<T> {
    return call();
  }
}

/**
 * Creates a client that connects on first use, because Temporal may be unavailable when the process
 * starts.
 */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const connection = PlainConnection.lazy({
    ...connectionOptions(settings),
    metadata: { 'temporal-namespace': settings.namespace },
    // The deadline comes first, so it covers the call together with its retries.
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
