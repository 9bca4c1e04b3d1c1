import { type Logger, pino, stdSerializers } from 'pino';

/** Names whose values never reach the log, wherever they lie in an entry up to three deep. */
const secrets = ['authorization', 'cookie', 'password', 'key', 'secret', 'secretKey', 'token'];

/**
 * The log of the API process, one JSON line per entry. In production errors come without their
 * stack: it may quote values.
 */
export function createLog({
  logLevel,
  environment,
}: {
  logLevel: string;
  environment: string;
}): Logger {
  return pino({
    name: 'everpost-api',
    level: logLevel,
    redact: secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    serializers: {
      error(error: unknown) {
        if (!(error instanceof Error)) return error;
        if (environment !== 'production') return stdSerializers.err(error);
        return { type: error.name, message: error.message };
      },
    },
  });
}
