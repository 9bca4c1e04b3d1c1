import { connectTemporal, type Temporal } from '../../workflows/client/connection.ts';
import { readStackFile } from './stack-file.ts';

/**
 * The servers for the operators' commands. Their addresses come from the environment, or from `npm
 * start`.
 */
export interface Servers {
  temporal: Temporal;
  temporalAddress: string;
  /** null: the URL of PostgreSQL is unknown. */
  databaseUrl: string | null;
}

/** Thrown when the servers are unknown. The message says how to start or name them. */
export class NoServers extends Error {}

/**
 * Finds the servers. The clients connect on first use. The caller closes `temporal`.
 * @throws NoServers when neither the environment nor a running `npm start` has their addresses.
 */
export async function findServers(env: NodeJS.ProcessEnv): Promise<Servers> {
  const stack = await readStackFile(env['EVERPOST_DATA_DIR'] ?? './var');
  if (!stack && !env['TEMPORAL_ADDRESS'] && !env['DATABASE_URL']) {
    throw new NoServers(
      'Everpost does not run here. Run "npm start" first. Or set EVERPOST_DATA_DIR to the data directory of a ' +
        'running stack, or TEMPORAL_ADDRESS and DATABASE_URL to servers of your own.',
    );
  }
  const temporalAddress = env['TEMPORAL_ADDRESS'] ?? stack?.temporalAddress ?? 'localhost:7233';
  const temporal = connectTemporal({
    address: temporalAddress,
    namespace: env['TEMPORAL_NAMESPACE'] ?? 'default',
    apiKey: env['TEMPORAL_API_KEY'] ?? null,
    tlsCert: env['TEMPORAL_TLS_CERT'] ?? null,
    tlsKey: env['TEMPORAL_TLS_KEY'] ?? null,
    tlsCa: env['TEMPORAL_TLS_CA'] ?? null,
  });
  return {
    temporal,
    temporalAddress,
    databaseUrl: env['DATABASE_URL'] ?? stack?.databaseUrl ?? null,
  };
}
