import { DefaultLogger, type LogEntry, type Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError } from '../domain/logged-error.ts';

/**
 * The log of the worker process, one JSON line per entry. `destination`: the standard output where
 * not given.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    name: 'everpost-worker',
    level,
    serializers: { error: (error: unknown) => loggedError(error, { withStack: true }) },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Lets the Temporal SDK write into our log, from warnings on. */
export function temporalLog(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => {
    log[level === 'ERROR' ? 'error' : 'warn']({ ...meta }, message);
  });
}
