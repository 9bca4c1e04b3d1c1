import { State } from '../../../design/parts.tsx';
import type { Journey } from '../../../journey/graph.ts';
import { type Finding, placeName } from '../../../journey/problems.ts';

/** All findings of the check. Each finding links to its step. */
export function ProblemsView({
  journey,
  findings,
  onChoose,
}: {
  journey: Journey;
  /** Null: not checked yet. */
  findings: readonly Finding[] | null;
  onChoose: (key: string) => void;
}) {
  const isFine = findings?.length === 0;
  return (
    <section className="card problems">
      <header>
        <h2 id="problems">Problems</h2>
        <span role="status" className="second">
          {findings === null ? 'Checking' : isFine ? 'None' : String(findings.length)}
        </span>
      </header>
      <ul aria-labelledby="problems">
        {findings?.map((finding, at) => (
          <li key={`${finding.key} ${finding.field} ${at}`}>
            <State tone={finding.isProblem ? 'bad' : 'warning'}>
              {finding.isProblem ? 'Problem' : 'Warning'}
            </State>
            {finding.key === null ? (
              <span>{finding.message}</span>
            ) : (
              <button type="button" onClick={() => onChoose(finding.key!)}>
                {placeName(journey, finding)}: {finding.message}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
