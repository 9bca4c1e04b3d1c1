import type { Database } from '../db/database.ts';
import { recordErasurePage } from '../db/transactions/erasure/erase-contact.ts';
import type { KeyCipher } from '../db/suppression/keys.ts';
import { timeBoxed } from './running/time-box.ts';

export interface ErasureRest {
  isOver: boolean;
  /** The kind of data that is removed next; null: all is removed. */
  task: string | null;
  /** Milliseconds to wait because nothing can be removed now; 0: continue at once. */
  pauseMs: number;
}

export type ErasureActivities = ReturnType<typeof createErasureActivities>;

export interface ErasureServices {
  db: Database;
  cipher: KeyCipher;
}

export function createErasureActivities({ db, cipher }: ErasureServices) {
  return {
    /**
     * Removes the data of an erased contact for one time slice. The next call resumes where this
     * one stopped.
     */
    ERASE_CONTACT: (erasureId: string) =>
      timeBoxed(async (shouldContinue): Promise<ErasureRest> => {
        for (;;) {
          const rest = await recordErasurePage(db, cipher, erasureId);
          if (rest.isOver || rest.pauseMs > 0 || !shouldContinue()) return rest;
        }
      }),
  };
}
