import { DefaultLogger, type LogEntry, type Logger as TemporalLogger } from '@temporalio/worker';
import { type Logger, pino } from 'pino';
import { loggedError } from '../domain/logged-error.ts';

/** The log of the worker process, one JSON line per entry. */
export function createLog(level: string): Logger {
  return pino({
    name: 'everpost-worker',
    level,
    serializers: { error: (error: unknown) => loggedError(error, { withStack: true }) },
  });
}

/** Lets the Temporal SDK write into our log, from warnings on. */
export function temporalLog(log: Logger): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => {
    log[level === 'ERROR' ? 'error' : 'warn']({ ...meta }, message);
  });
}
