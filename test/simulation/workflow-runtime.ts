import { ActivityFailure, CancelledFailure } from '@temporalio/common';
import { context } from './scheduler.ts';
import { type ActivityRules, ContinuedAsNew, durationMs, type Run } from './temporal.ts';

/** The functions of `@temporalio/workflow` that workflow code uses, on the simulated Temporal. */

export {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  TemporalFailure,
} from '@temporalio/common';
export { ContinuedAsNew as ContinueAsNew } from './temporal.ts';

export const ActivityCancellationType = { WAIT_CANCELLATION_COMPLETED: 'WAIT' };

const present = () => context.getStore()!.run as Run;

type Act = (...args: unknown[]) => Promise<unknown>;

function proxied(rules: ActivityRules): Record<string, Act> {
  return new Proxy(
    {},
    {
      get(_, name: string) {
        const act: Act = (...args) => present().temporal.runActivity(present(), name, args, rules);
        return Object.assign(act, {
          executeWithOptions: (_options: unknown, args: unknown[]) => act(...args),
        });
      },
    },
  );
}

export const proxyActivities = (rules: ActivityRules) => proxied(rules);
export const proxyLocalActivities = (rules: ActivityRules) => proxied({ ...rules, isLocal: true });

/** Waits until `isTrue`, at most for `timeout`. Returns true if it is. @throws CancelledFailure */
export function condition(isTrue: () => boolean, timeout?: unknown): Promise<boolean> {
  const run = present();
  if (isTrue()) return Promise.resolve(true);
  return new Promise((resolve, reject) => {
    let clear = () => {};
    const end = (act: () => void) => {
      run.waiters.delete(waiter);
      clear();
      act();
    };
    const waiter = {
      look: () => isTrue() && end(() => resolve(true)),
      cancel: () => end(() => reject(new CancelledFailure('Cancelled.'))),
    };
    run.waiters.add(waiter);
    const ms = durationMs(timeout);
    if (ms !== null) clear = run.temporal.sim.timer(ms, () => end(() => resolve(false)));
    if (run.cancelRequested) waiter.cancel();
  });
}

export const sleep = async (duration: unknown) => void (await condition(() => false, duration));

export const defineSignal = (name: string) => ({ name });

export function setHandler({ name }: { name: string }, handle: (...args: unknown[]) => void): void {
  const run = present();
  run.handlers.set(name, handle);
  for (const signal of run.early.splice(0)) {
    if (signal.name === name) handle(...signal.args);
    else run.early.push(signal);
  }
}

export const continueAsNew = (...args: unknown[]) => Promise.reject(new ContinuedAsNew(args));

export const workflowInfo = () => ({
  taskQueue: present().taskQueue,
  workflowType: present().type,
  continueAsNewSuggested: false,
  typedSearchAttributes: { get: () => undefined },
});

export const isCancellation = (error: unknown) =>
  error instanceof CancelledFailure ||
  (error instanceof ActivityFailure && error.cause instanceof CancelledFailure);

export const allHandlersFinished = () => true;
export const patched = () => true;
export const setCurrentDetails = () => {};
export const upsertSearchAttributes = () => {};
export const upsertMemo = () => {};
