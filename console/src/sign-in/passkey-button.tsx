import { hasPasskeys, provePasskey } from '../api/passkeys.ts';
import { Button } from '../design/button.tsx';
import { useAction } from '../design/use-action.ts';

/** Asks the browser for a passkey. It is left out where the browser knows none. */
export function PasskeyButton({ children, onDone }: { children: string; onDone: () => void }) {
  const passkey = useAction(provePasskey);
  if (!hasPasskeys) return null;
  return (
    <Button
      isBusy={passkey.isBusy}
      onClick={() => void passkey.run().then((isProven) => isProven && onDone())}
    >
      {children}
    </Button>
  );
}
