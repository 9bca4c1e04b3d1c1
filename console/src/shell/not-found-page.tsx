import { Link } from '@tanstack/react-router';
import { PageHead } from '../design/page-head.tsx';

/** The page for an address that does not exist, or that belongs to a project of other users. */
export function NotFoundPage() {
  return (
    <div className="plain">
      <main id="main" className="stack">
        <PageHead title="Not found" />
        <p>This address leads to nothing that you may see. It may have been deleted.</p>
        <p>
          <Link to="/">Go to your project</Link>
        </p>
      </main>
    </div>
  );
}
