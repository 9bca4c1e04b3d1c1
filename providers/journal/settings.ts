import type { z } from 'zod';
import { number, text } from '../../config-fields.ts';

/** Variables of the journals, in which workers note the messages that they send. */
export const journalVariables = { JOURNAL_DIR: text, JOURNAL_RETENTION_DAYS: number(7) };

export function journalSettings(
  env: z.output<z.ZodObject<typeof journalVariables>> & { EVERPOST_DATA_DIR: string },
) {
  return {
    /** Folder of the journals; null: no journals. */
    dir: (env.JOURNAL_DIR ?? `${env.EVERPOST_DATA_DIR}/journal`) || null,
    /** Days for which a journal is kept after all its outcomes are in the database. */
    retentionDays: env.JOURNAL_RETENTION_DAYS,
  };
}
