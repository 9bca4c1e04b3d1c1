import { prettyFactory } from 'pino-pretty';
import { z } from 'zod';

/** The log entry of an answered request; `api/app.ts` writes it. */
const RequestEntry = z.object({
  msg: z.literal('request'),
  method: z.string(),
  path: z.string(),
  status: z.number(),
  ms: z.number(),
});

/** Formats the programs' log lines for people; `colour` if the terminal supports it. */
export function lineReader({ colour }: { colour: boolean }) {
  const shared = {
    colorize: colour,
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
    errorLikeObjectKeys: ['error'],
  };
  const ignored = ['pid', 'hostname', 'name'];
  const readEntry = prettyFactory({ ...shared, ignore: ignored.join(',') });
  const readRequest = prettyFactory({
    ...shared,
    ignore: [...ignored, 'method', 'path', 'status', 'ms', 'requestId'].join(','),
    messageFormat: '{method} {path} {status} in {ms} ms',
  });
  /**
   * Formats one line, after the name of its program. A line that is no log entry is not changed.
   */
  return (program: string, line: string): string => {
    const entry = parsed(line);
    if (entry === null) return `${program.padEnd(6)} | ${line}`;
    const read = RequestEntry.safeParse(entry).success ? readRequest : readEntry;
    return `${program.padEnd(6)} | ${read(entry).trimEnd()}`;
  };
}

/** The number of pino's level `error`. */
const errorLevel = 50;

/** Returns true for an error, and for a line that is no log entry, such as the stack of a crash. */
export function isError(line: string): boolean {
  const entry = parsed(line);
  return entry === null || !(Number(entry.level) < errorLevel);
}

/** Returns the JSON object in a line; null when the line is something else. */
function parsed(line: string): { level: unknown } | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'level' in value ? value : null;
  } catch {
    return null;
  }
}
