import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError, maskSecrets } from '../../domain/logging.ts';

/** Names of fields whose values are never logged, up to three levels deep in an entry. */
const secrets = ['authorization', 'cookie', 'password', 'key', 'secret', 'secretKey', 'token'];

/** The message of the log line that each request gets. */
export const requestMessage = 'request';
/**
 * Maximum milliseconds for which log lines of requests wait, so that several are written together.
 */
const outputGatherMs = 100;
/** Maximum number of characters that wait to be written. */
const gatheredMax = 64 * 1024;

/**
 * Writes log lines of requests together, because separate writes would be a quarter of the cost of
 * a small request. The waiting lines are written at once before any other line, and at the end of
 * the process.
 */
class GatheredLines implements DestinationStream {
  readonly [pino.symbols.needsMetadataGsym] = true;
  /** The message of the current line, which pino sets before it writes the line. */
  lastMsg: string | undefined;
  #lines = '';
  #timer: NodeJS.Timeout | undefined;
  readonly #destination: DestinationStream;
  readonly #gatherMs: number;

  constructor(destination: DestinationStream, gatherMs: number) {
    this.#destination = destination;
    this.#gatherMs = gatherMs;
  }

  write(line: string): void {
    this.#lines += line;
    const isRequest = this.lastMsg === requestMessage;
    if (!isRequest || this.#gatherMs === 0 || this.#lines.length >= gatheredMax) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), this.#gatherMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#destination.write(maskSecrets(lines));
  }
}

/**
 * Creates the log of the API process: one JSON line per entry. In production, errors are logged
 * without their stack.
 * @param destination standard output by default
 * @param gatherMs milliseconds for which lines of requests wait; 0: each is written alone
 */
export function createLog(
  { logLevel, environment }: { logLevel: string; environment: string },
  destination?: DestinationStream,
  gatherMs = destination ? 0 : outputGatherMs,
): Logger {
  const lines = new GatheredLines(destination ?? pino.destination(1), gatherMs);
  if (!destination) process.once('exit', () => lines.flush());
  const options = {
    name: 'everpost-api',
    level: logLevel,
    redact: secrets.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
    serializers: {
      error: (error: unknown) => loggedError(error, { withStack: environment !== 'production' }),
    },
  };
  return pino(options, lines);
}
