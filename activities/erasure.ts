import type { Database } from '../db/database.ts';
import { recordErasurePage } from '../db/transactions/erasure/erase-contact.ts';
import type { KeyCipher } from '../db/suppression/keys.ts';
import { timeBoxed } from './running/time-box.ts';

/** The work that an erasure has left. */
export interface ErasureRest {
  isOver: boolean;
  /** The removal that comes next; null: none. */
  task: string | null;
  /** Nothing can be done now: in how many milliseconds to continue. */
  pauseMs: number;
}

export interface ErasureActivities {
  /** Removes what an erased contact has, for one time slice. It resumes where it stopped. */
  ERASE_CONTACT(erasureId: string): Promise<ErasureRest>;
}

export interface ErasureServices {
  db: Database;
  cipher: KeyCipher;
}

export function createErasureActivities({ db, cipher }: ErasureServices): ErasureActivities {
  return {
    ERASE_CONTACT: (erasureId) =>
      timeBoxed(async (shouldContinue) => {
        for (;;) {
          const rest = await recordErasurePage(db, cipher, erasureId);
          if (rest.isOver || rest.pauseMs > 0 || !shouldContinue()) return rest;
        }
      }),
  };
}
