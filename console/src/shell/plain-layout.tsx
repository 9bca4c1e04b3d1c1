import { Outlet } from '@tanstack/react-router';

/** Pages without navigation: log-in, sign-up and what mails lead to. */
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
