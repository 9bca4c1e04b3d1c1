import { sql } from 'kysely';

/** SQL that is true if an execution is on this version of its workflow. */
export const isOn = (version: number) => sql`workflow_version = ${version}`;

/**
 * Maximum difference between the clocks of Temporal and the database. A run may end a wait or a
 * delay when at most this time is left.
 */
export const clockSkew = sql`interval '1 minute'`;

/**
 * SQL that is true if a delay with this output is over by itself: its end has come, or its date was
 * in the past.
 */
export const isDelayOver = (output: ReturnType<typeof sql>) =>
  sql`((${output} ->> 'past')::boolean is true
    or ${isDue(sql`(${output} ->> 'resumeAt')::timestamptz`)})`;

export const isDue = (moment: ReturnType<typeof sql>) =>
  sql`${moment} <= clock_timestamp() + ${clockSkew}`;
