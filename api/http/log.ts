import { type DestinationStream, type Logger, pino } from 'pino';
import { loggedError, maskSecrets } from '../../domain/logging.ts';

/** Names whose values are never logged, up to three levels deep in an entry. */
const secrets = ['authorization', 'cookie', 'password', 'key', 'secret', 'secretKey', 'token'];

/** The message of the line that each request has. */
export const requestMessage = 'request';
/** How long the lines of requests may wait for each other on standard output, in milliseconds. */
const outputGatherMs = 100;
/** How much of them may wait, in characters. */
const gatheredMax = 64 * 1024;

/**
 * Writes the lines of requests together: to write each by itself is a quarter of what a small
 * request costs. Any other line takes them along at once, and so does the end of the process.
 */
class GatheredLines implements DestinationStream {
  readonly [pino.symbols.needsMetadataGsym] = true;
  /** The message of the line, which pino sets before it writes it. */
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
 * The log of the API process, one JSON line per entry. In production, errors are logged without
 * their stack.
 * @param destination standard output by default
 * @param gatherMs how long the lines of requests may wait; 0: each is written by itself
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
