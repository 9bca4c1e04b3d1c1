import type { Database } from '../../db/database.ts';
import { noticeOlderDatabase } from '../../db/restores/heartbeat.ts';
import { holdMail } from '../../db/transactions/restores/hold-mail.ts';
import type { KnownSweeps } from '../../domain/runs/lost-history.ts';
import { noticedMessages } from '../../domain/runs/restores.ts';
import { pause } from '../running/time-box.ts';

/**
 * No worker hands over mail before it has compared the heartbeats in PostgreSQL and in Temporal: after
 * its start, and after each connection to another server. If the database is older, mail of before is
 * held first.
 */
export interface MailGate {
  /** Resolves with true once mail may be handed over; with false if `stop` is aborted before. */
  pass(stop: AbortSignal): Promise<boolean>;
  /** Returns false while the heartbeats must be compared. */
  isOpen(): boolean;
  /** Has the heartbeats compared again, because the database may be another one. */
  close(): void;
}

interface GateServices {
  db: Database;
  log: { warn(details: object, message: string): void };
  /** @throws when Temporal does not respond, or has no schedule of the sweep yet */
  describeSweep(): Promise<KnownSweeps>;
}

/** Milliseconds between two attempts to compare. */
const retryMs = 1_000;

export function createMailGate(services: GateServices): MailGate {
  /** Counts the closings, so that a comparison which began before the last one does not count. */
  let closings = 0;
  let openFor = -1;
  let comparing: Promise<void> | null = null;

  async function compare(): Promise<void> {
    const closing = closings;
    await holdMailOfBefore(services);
    openFor = closing;
  }

  const isOpen = () => openFor === closings;
  return {
    isOpen,
    close() {
      closings += 1;
    },
    async pass(stop) {
      while (!isOpen()) {
        if (stop.aborted) return false;
        comparing ??= compare().finally(() => (comparing = null));
        try {
          await comparing;
        } catch (error) {
          services.log.warn({ error }, 'Mail waits: the heartbeats could not be compared yet');
          await pause(retryMs, stop);
        }
      }
      return true;
    },
  };
}

async function holdMailOfBefore({ db, log, describeSweep }: GateServices): Promise<void> {
  const restore = await noticeOlderDatabase(db, await describeSweep());
  if (restore) log.warn(restore, noticedMessages[restore.kind]);
  await holdMail(db);
}

/** A gate that is always open, where there is one database. */
export const openGate: MailGate = { pass: async () => true, isOpen: () => true, close() {} };
