import type { Email } from '../../api/api.ts';
import { Time } from '../../design/parts.tsx';
import { traceSentence } from '../../words/emails.ts';

/** The states that a mail has had, in sentences, oldest first. */
export function Trace({ email: { trace } }: { email: Email }) {
  return (
    <ol className="stack" aria-label="Trace">
      {trace.map((entry, at) => (
        <li key={at}>
          {traceSentence(entry)}{' '}
          <span className="second small">
            <Time at={entry.at} /> <code>{entry.state}</code>
          </span>
        </li>
      ))}
    </ol>
  );
}
