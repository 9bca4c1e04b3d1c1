import { Link } from '@tanstack/react-router';
import { pageAddress } from '../api/session.ts';
import { accountApi } from '../api/api.ts';
import { useRead } from '../api/queries.ts';
import { PageHead } from '../design/page-head.tsx';
import { Loaded } from '../design/parts.tsx';

/** Shown instead of a project that demands a second factor, if the session has no second factor. */
export function FactorNeeded() {
  const factors = useRead(['factors'], () => accountApi.get('/users/@me/factors'));
  const next = pageAddress();
  return (
    <>
      <PageHead title="A second factor is needed" />
      <Loaded query={factors} lines={2}>
        {({ factors: own }) =>
          own.length > 0 ? (
            <>
              <p>This project demands a second factor. You have logged in without yours.</p>
              <p className="actions">
                <Link className="button primary" to="/auth/second-factor" search={{ next }}>
                  Use it now
                </Link>
              </p>
            </>
          ) : (
            <>
              <p>This project demands a second factor. Add one to your account first.</p>
              <p className="actions">
                <Link className="button primary" to="/account">
                  Your account
                </Link>
              </p>
            </>
          )
        }
      </Loaded>
    </>
  );
}
