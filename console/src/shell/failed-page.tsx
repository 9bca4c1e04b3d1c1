import { PageHead } from '../design/page-head.tsx';
import { ProblemAlert } from '../design/problem-alert.tsx';
import { PlainFrame } from './plain-layout.tsx';

/** The page that is shown when the code of a page has thrown an error. */
export function FailedPage({ error }: { error: unknown }) {
  return (
    <PlainFrame>
      <PageHead title="This page has failed" />
      <ProblemAlert error={error} onRetry={() => location.reload()} />
    </PlainFrame>
  );
}
