import { State } from '../../../design/parts.tsx';
import type { Tone } from '../../../words/tone.ts';
import { duration, fullTime } from '../../../words/times.ts';
import type { Played } from './play.ts';

const ends: Readonly<Record<Played['status'], readonly [tone: Tone, text: string]>> = {
  COMPLETED: ['good', 'The journey is complete'],
  EXITED: ['good', 'The journey ended by an exit'],
  FAILED: ['bad', 'The journey failed'],
  WAITING: ['neutral', 'The journey still waits'],
};

const outcomes: Readonly<Record<Played['emails'][number]['outcome'], readonly [Tone, string]>> = {
  send: ['good', 'Sent'],
  withheld: ['warning', 'Not sent'],
  held: ['warning', 'Held'],
};

/** The path through the graph, and the mails on it. */
export function Result({ played }: { played: Played }) {
  const { status, exitReason, error, path, emails, startedAt, start } = played;
  const [tone, text] = ends[status];
  const why = error ?? exitReason;
  return (
    <div className="stack" role="status">
      <p>
        <State tone={tone}>{text}</State> {why && <span className="second">{why}</span>}
      </p>
      {start && !start.starts && (
        <p className="second">An event with this data would not start it: {start.reason}.</p>
      )}
      <h3 id="path">Path</h3>
      <ol className="path" aria-labelledby="path">
        {path.map(({ stepId, name, enteredAt, leftAt, branch }) => (
          <li key={stepId + enteredAt}>
            <strong>{name}</strong>
            {branch && <span> → {branch}</span>}
            <span className="second small">
              {fullTime(enteredAt)}
              {leftAt && stayText(enteredAt, leftAt)}
              {!leftAt && ', still there'}
              {` · ${duration(secondsBetween(startedAt, enteredAt))} after the start`}
            </span>
          </li>
        ))}
      </ol>
      <h3 id="mails">Mails</h3>
      {emails.length === 0 && <p className="second">No mail is sent on this way.</p>}
      <ul className="path" aria-labelledby="mails">
        {emails.map(({ stepId, at, to, subject, outcome, reason, warnings }) => (
          <li key={stepId + at}>
            <strong>{subject}</strong>
            <span>
              <State tone={outcomes[outcome][0]}>{outcomes[outcome][1]}</State> to {to}
            </span>
            <span className="second small">
              {fullTime(at)}
              {reason && ` · ${reason.replaceAll('_', ' ')}`}
            </span>
            {warnings.map(({ message }) => (
              <span key={message} className="small">
                <State tone="warning">Warning</State> {message}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </div>
  );
}

const secondsBetween = (from: string, to: string) =>
  Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);

function stayText(enteredAt: string, leftAt: string): string {
  const stay = secondsBetween(enteredAt, leftAt);
  return stay < 1 ? '' : `, stays ${duration(stay)}`;
}
