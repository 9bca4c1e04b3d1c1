import { Link, Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { AccountMenu } from './side-bar.tsx';

/** Layout of pages that need a session and belong to no project. */
export function AccountLayout() {
  return (
    <AccountFrame>
      <Outlet />
    </AccountFrame>
  );
}

/** The menu of the account, above a page without the navigation of a project. */
export function AccountFrame({ children }: { children: ReactNode }) {
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link to="/">Everpost</Link>
        <AccountMenu />
      </header>
      <main id="main" className="content narrow" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}
