import { type ReactNode, useEffect, useRef } from 'react';

let lastPath = '';

/**
 * The heading of a page, with the actions of the page. The heading sets the title of the browser
 * tab, and gets the focus when the page is opened from another page.
 */
export function PageHead({
  title,
  project,
  trail,
  state,
  actions,
}: {
  title: string;
  /** Name of the project, for the title of the tab. */
  project?: string | undefined;
  /** A link back to the list. */
  trail?: ReactNode;
  /** The state of the record on the page. */
  state?: ReactNode;
  actions?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [title, project, 'Everpost'].filter(Boolean).join(' · ');
  }, [title, project]);
  useEffect(() => {
    const { pathname } = location;
    if (lastPath !== '' && lastPath !== pathname) heading.current?.focus();
    lastPath = pathname;
  }, []);
  return (
    <header className="page-head">
      <div>
        {trail && <span className="trail">{trail}</span>}
        <span className="actions">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {state}
        </span>
      </div>
      {actions && <div className="actions">{actions}</div>}
    </header>
  );
}
