import { Link } from '@tanstack/react-router';
import { PageHead } from '../design/page-head.tsx';

/** A page that does not exist, or belongs to a project of others. */
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
