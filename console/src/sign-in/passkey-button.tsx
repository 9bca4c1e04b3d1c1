import { hasPasskeys, provePasskey } from '../api/passkeys.ts';
import { Button } from '../design/button.tsx';
import { useAction } from '../design/use-action.ts';

/** Asks the browser for a passkey. Not shown if the browser does not support passkeys. */
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
