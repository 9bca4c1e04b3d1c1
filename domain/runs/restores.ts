import { forgottenSince, type KnownSweeps } from './lost-history.ts';

/**
 * Restores: PostgreSQL or Temporal has lost its data, was restored from an older backup, or was
 * moved. Each sweep records a heartbeat, which is its number and time, in PostgreSQL and in
 * Temporal. A store that lacks the newest heartbeats of the other store has older data.
 */

export const restoreKinds = [
  'temporal_lost',
  'temporal_older',
  'database_older',
  'database_moved',
  'by_hand',
] as const;
export type RestoreKind = (typeof restoreKinds)[number];

/** The log message for each kind of restore that a comparison finds. */
export const noticedMessages = {
  temporal_lost: 'Temporal has lost its data: all schedules and runs are made again',
  temporal_older:
    'Temporal was restored from a backup: its runs and schedules follow the rows that have gone on since',
  database_older: 'PostgreSQL was restored from a backup: mail may have left that it does not know',
} as const;

/** The last sweeps according to our own rows. */
export interface OwnSweeps {
  heartbeat: number;
  heartbeatAt: Date | null;
  /** The planned time of the last sweep that the schedule has started; null: there was none. */
  plannedAt: Date | null;
}

/** A restore that was noticed, and the time span whose data are lost. */
export interface NoticedRestore {
  kind: 'temporal_lost' | 'temporal_older' | 'database_older';
  /** null: all data are lost. */
  from: Date | null;
  to: Date | null;
}

/** Compares the sweeps in our rows with those that Temporal knows. Returns null if they agree. */
export function compareStores(own: OwnSweeps, known: KnownSweeps): NoticedRestore | null {
  const { heartbeat } = known;
  if (heartbeat && heartbeat.number > own.heartbeat) {
    return { kind: 'database_older', from: own.heartbeatAt, to: new Date(heartbeat.at) };
  }
  const since = own.plannedAt && forgottenSince(own.plannedAt, known);
  if (!since) return null;
  const isLost = since.getTime() === 0;
  return {
    kind: isLost ? 'temporal_lost' : 'temporal_older',
    from: isLost ? null : since,
    to: own.plannedAt,
  };
}
