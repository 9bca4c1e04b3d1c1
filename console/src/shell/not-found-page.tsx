import { Link } from '@tanstack/react-router';
import { PageHead } from '../design/page-head.tsx';
import { PlainFrame } from './plain-layout.tsx';

/** The page for an address that does not exist. */
export function NotFoundPage() {
  return (
    <PlainFrame>
      <NotFound />
    </PlainFrame>
  );
}

/** Says that an address does not exist, or belongs to a project of other users. */
export function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <p>This address leads to nothing that you may see. It may have been deleted.</p>
      <p>
        <Link to="/">Go to your project</Link>
      </p>
    </>
  );
}
