import { Client, Connection } from '@temporalio/client';

/** How to reach Temporal. */

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

/** A client that connects on first use: Temporal may be unavailable when we start. */
export function connectTemporal(settings: TemporalSettings): Temporal {
  const connection = Connection.lazy(connectionOptions(settings));
  const client = new Client({ connection, namespace: settings.namespace });
  return {
    client,
    answers: () =>
      withDeadline(client, () =>
        connection.workflowService.describeNamespace({ namespace: settings.namespace }),
      ).then(
        () => true,
        () => false,
      ),
    close: () => connection.close(),
  };
}

/** Makes a call that fails instead of waiting for an unavailable server. */
export function withDeadline<T>(client: Client, call: () => Promise<T>): Promise<T> {
  return client.withDeadline(Date.now() + callTimeoutMs, call);
}
