import { Link, Outlet } from '@tanstack/react-router';
import { AccountMenu } from './side-bar.tsx';

/** Layout of pages that need a session and belong to no project. */
export function AccountLayout() {
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
        <Outlet />
      </main>
    </>
  );
}
