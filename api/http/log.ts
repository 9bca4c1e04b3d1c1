import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError, maskSecrets } from '../../domain/logging.ts';

/** Names whose values are never logged, up to three levels deep in an entry. */
const secrets = ['authorization', 'cookie', 'password', 'key', 'secret', 'secretKey', 'token'];

/**
 * The log of the API process, one JSON line per entry. In production, errors are logged without
 * their stack. `destination`: standard output by default.
 */
export function createLog(
  { logLevel, environment }: { logLevel: string; environment: string },
  destination?: DestinationStream,
): Logger {
  const options = {
    name: 'everpost-api',
    level: logLevel,
    redact: secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    hooks: { streamWrite: maskSecrets },
    serializers: {
      error: (error: unknown) => loggedError(error, { withStack: environment !== 'production' }),
    },
  };
  return destination ? pino(options, destination) : pino(options);
}
