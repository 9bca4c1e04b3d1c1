import { context } from './scheduler.ts';

/** The functions of `@temporalio/activity` that activities use, on the simulated Temporal. */

export { ApplicationFailure, CancelledFailure } from '@temporalio/common';

export const heartbeat = () => {};

export function cancellationSignal(): AbortSignal {
  return (context.getStore()!.activity as { signal: AbortSignal }).signal;
}
