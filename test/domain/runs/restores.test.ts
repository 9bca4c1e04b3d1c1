import { expect, it } from 'vitest';
import type { KnownSweeps } from '../../../domain/runs/lost-history.ts';
import { compareStores } from '../../../domain/runs/restores.ts';

/** Returns a minute of an hour. */
const at = (minute: number) => new Date(Date.UTC(2026, 10, 25, 12, minute));
const own = { heartbeat: 30, heartbeatAt: at(30), plannedAt: at(30) };
const known = (number: number | null, sweeps: Partial<KnownSweeps> = {}): KnownSweeps => ({
  createdAt: at(0),
  plannedAt: [at(28), at(29), at(30), at(31)],
  heartbeat: number === null ? null : { number, at: at(number).toISOString() },
  ...sweeps,
});

it.each([
  ['nothing while both have the same sweep', known(30), null],
  ['nothing when the last sweep has died before Temporal got its heartbeat', known(29), null],
  ['nothing before the first heartbeat', known(null), null],
  [
    'an older database when Temporal has a later heartbeat',
    known(33),
    { kind: 'database_older', from: at(30), to: at(33) },
  ],
  [
    'lost data of Temporal when the schedule is younger',
    known(null, { createdAt: at(40), plannedAt: [at(41)] }),
    { kind: 'temporal_lost', from: null, to: at(30) },
  ],
  [
    'older data of Temporal when it has an earlier sweep only',
    known(20, { plannedAt: [at(19), at(20), at(40)] }),
    { kind: 'temporal_older', from: at(20), to: at(30) },
  ],
])('notices %s', (_, sweeps, restore) => {
  expect(compareStores(own, sweeps)).toEqual(restore);
});
