import { expect, it } from 'vitest';
import { forgottenSince } from '../../../domain/runs/lost-history.ts';

/** Returns a minute of an hour. */
const at = (minute: number) => new Date(Date.UTC(2026, 10, 25, 12, minute));
const known = (createdAt: number, ...plannedAt: number[]) => ({
  createdAt: at(createdAt),
  plannedAt: plannedAt.map(at),
  heartbeat: null,
});

it.each([
  ['nothing when it knows the last sweep', known(0, 28, 29, 30, 31), null],
  ['nothing when sweeps have failed to begin since', known(0, 35, 36, 37), null],
  ['all since its last sweep when older data were restored', known(0, 19, 20, 40), at(20)],
  ['everything when its schedule is younger', known(40, 40), new Date(0)],
])('says that Temporal has forgotten %s', (_, sweeps, since) => {
  expect(forgottenSince(at(30), sweeps)).toEqual(since);
});
