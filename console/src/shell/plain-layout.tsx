import { Outlet } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/**
 * Layout of pages without navigation: log-in, sign-up and the pages to which links in mail lead.
 */
export function PlainLayout() {
  return (
    <PlainFrame>
      <Outlet />
    </PlainFrame>
  );
}

/** A page without navigation. */
export function PlainFrame({ children }: { children: ReactNode }) {
  return (
    <div className="plain">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
