import { Outlet } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useRead } from '../api/queries.ts';
import { findUser, leaveForLogIn } from '../api/session.ts';
import { Bones } from '../design/parts.tsx';
import { ProblemAlert } from '../design/problem-alert.tsx';
import { LostConnection } from './lost-connection.tsx';
import { PlainFrame } from './plain-layout.tsx';
import { UserContext } from './user.ts';

/**
 * Layout of pages that need a session. Without a session, the log-in page opens. After the log-in,
 * the user returns to the page.
 */
export function SessionLayout() {
  const { data: user, error, refetch } = useRead(['user'], findUser);
  useEffect(() => {
    if (user === null) leaveForLogIn();
  }, [user]);
  if (user) {
    return (
      <UserContext.Provider value={user}>
        <LostConnection />
        <Outlet />
      </UserContext.Provider>
    );
  }
  return (
    <PlainFrame>
      {error ? <ProblemAlert error={error} onRetry={() => void refetch()} /> : <Bones />}
    </PlainFrame>
  );
}
