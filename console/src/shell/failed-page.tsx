import { PageHead } from '../design/page-head.tsx';
import { ProblemAlert } from '../design/problem-alert.tsx';

/** The page that is shown when the code of a page has thrown an error. */
export function FailedPage({ error }: { error: unknown }) {
  return (
    <div className="plain">
      <main id="main" className="stack">
        <PageHead title="This page has failed" />
        <ProblemAlert error={error} onRetry={() => location.reload()} />
      </main>
    </div>
  );
}
