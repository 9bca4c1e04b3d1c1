import { DefaultLogger, type LogEntry, type Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError } from '../domain/logged-error.ts';
import { maskSecrets } from '../domain/logged-text.ts';

/**
 * The log of the worker process, one JSON line per entry. In production errors come without their
 * stack. `destination`: the standard output where not given.
 */
export function createLog(
  { logLevel, environment }: { logLevel: string; environment: string },
  destination?: DestinationStream,
): Logger {
  const options = {
    name: 'everpost-worker',
    level: logLevel,
    hooks: { streamWrite: maskSecrets },
    serializers: {
      error: (error: unknown) => loggedError(error, { withStack: environment !== 'production' }),
    },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** What the SDK warns of at every start: the queues of mail and bulk work have no workflows. */
const intended = 'No workflows registered, not polling for workflow tasks';

/** Lets the Temporal SDK write into our log, from warnings on. */
export function temporalLog(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => {
    if (message === intended) return;
    log[level === 'ERROR' ? 'error' : 'warn']({ ...meta }, message);
  });
}
