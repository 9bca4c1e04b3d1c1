import { DefaultLogger, type LogEntry, type Logger as TemporalLogger } from '@temporalio/worker';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Metrics } from '../providers/metrics.ts';
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
 * A warning of the SDK at every start. It is no problem, because only the main queue has workflows
 * (`worker/workers.ts`).
 */
const intended = 'No workflows registered, not polling for workflow tasks';

/** The message with which the SDK reports a workflow task that fails, for any reason. */
const failedTask = /^Failing workflow /;

/**
 * Passes warnings and errors of the Temporal SDK's log to ours. Failing workflow tasks are counted
 * here, because the SDK has no other hook for them.
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
