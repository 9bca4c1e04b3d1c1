import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError } from '../../domain/logged-error.ts';
import { maskSecrets } from '../../domain/logged-text.ts';

/** Names whose values never reach the log, wherever they lie in an entry up to three deep. */
const secrets = ['authorization', 'cookie', 'password', 'key', 'secret', 'secretKey', 'token'];

/**
 * The log of the API process, one JSON line per entry. In production errors come without their
 * stack. `destination`: the standard output where not given.
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
