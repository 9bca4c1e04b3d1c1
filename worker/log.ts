import { DefaultLogger, type LogEntry, type Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Metrics } from '../providers/metrics/metrics.ts';
import { loggedError, maskSecrets } from '../domain/logging.ts';

/**
 * Creates the log of the worker process, one JSON line per entry. In production, errors are logged
 * without their stack.
 * @param destination standard output by default
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

/**
 * A warning that the SDK logs at every start. It is expected, because only the main queue has
 * workflows (`worker/workers.ts`), so it is not logged.
 */
const intended = 'No workflows registered, not polling for workflow tasks';

/** Matches the SDK's message about a workflow task that failed for any reason. */
const failedTask = /^Failing workflow /;

/**
 * Passes warnings and errors of the Temporal SDK to the worker's log. Also counts failed workflow
 * tasks, because the SDK offers no other place to count them.
 */
export function temporalLog(
  log: Logger,
  metrics?: Pick<Metrics, 'countWorkflowTaskFailure'>,
): TemporalLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }: LogEntry) => {
    if (message === intended) return;
    if (failedTask.test(message)) metrics?.countWorkflowTaskFailure();
    log[level === 'ERROR' ? 'error' : 'warn']({ ...meta }, message);
  });
}
