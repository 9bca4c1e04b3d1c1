import { z } from 'zod';
import { ConfigError, number, positiveNumber, problemsOf } from '../config-fields.ts';

/** Variables of the log files that `npm start` writes. */
export const logFileVariables = {
  LOG_FILE_MB: positiveNumber(50),
  LOG_FILES: number(5, 1, 1000),
};

export interface LogFileSettings {
  /** Maximum size of a file. */
  bytesMax: number;
  /** Maximum number of files of a log. */
  filesMax: number;
}

/**
 * Reads the settings of log files.
 * @throws ConfigError with one line for each invalid variable.
 */
export function readLogFileSettings(
  environment: Readonly<Record<string, string | undefined>>,
): LogFileSettings {
  const given = Object.keys(logFileVariables).map((name) => [name, environment[name] || undefined]);
  const { data, error } = z.object(logFileVariables).safeParse(Object.fromEntries(given));
  if (!data) throw new ConfigError(problemsOf(error));
  return { bytesMax: Math.ceil(data.LOG_FILE_MB * 1024 * 1024), filesMax: data.LOG_FILES };
}
