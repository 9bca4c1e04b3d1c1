import { logInAddress } from '../api/session.ts';

/** A link to the log-in page, if an error with this code says that the log-in is too old. */
export function LogInAgain({ code }: { code: string | null }) {
  if (code !== 'REAUTHENTICATION_REQUIRED') return null;
  return (
    <a className="button small" href={logInAddress()}>
      Log in again
    </a>
  );
}
