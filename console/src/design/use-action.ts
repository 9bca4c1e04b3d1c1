import { useState } from 'react';
import { useNotify } from './notices.tsx';

/**
 * Runs the action of a button. While the action runs, the button is busy. An error is shown in the
 * corner of the window.
 * @returns `run`, which resolves with true if the action succeeded
 */
export function useAction<Input extends unknown[]>(
  work: (...input: Input) => Promise<unknown>,
  done?: string,
): { run: (...input: Input) => Promise<boolean>; isBusy: boolean } {
  const [isBusy, setBusy] = useState(false);
  const { say, fail } = useNotify();
  return {
    isBusy,
    async run(...input) {
      if (isBusy) return false;
      setBusy(true);
      try {
        await work(...input);
        if (done) say(done);
        return true;
      } catch (error) {
        fail(error);
        return false;
      } finally {
        setBusy(false);
      }
    },
  };
}
