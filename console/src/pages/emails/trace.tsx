import type { Email } from '../../api/api.ts';
import { Time } from '../../design/parts.tsx';
import { traceSentence } from '../../words/emails.ts';

/** What happened to a mail, in sentences, oldest first. */
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
