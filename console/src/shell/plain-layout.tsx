import { Outlet } from '@tanstack/react-router';

/**
 * Layout of pages without navigation: log-in, sign-up and the pages to which links in mail lead.
 */
export function PlainLayout() {
  return (
    <div className="plain">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}
