import type { EmailSummary, Execution } from '../../api/api.ts';
import { State } from '../../design/parts.tsx';
import type { Tone } from '../../words/tone.ts';
import { executionStates } from '../../words/operations/execution.ts';
import { textOfReason } from '../../words/reasons.ts';

export function ExecutionState({
  execution: { status, stuck, pausedAt },
}: {
  execution: Pick<Execution, 'status' | 'stuck' | 'pausedAt'>;
}) {
  const { text, tone } = executionStates[status];
  if (stuck) return <State tone="warning">Stuck</State>;
  if (pausedAt !== null) return <State tone="warning">Paused</State>;
  return <State tone={tone}>{text}</State>;
}

const emails: Record<EmailSummary['status'], [Tone, string]> = {
  PENDING: ['neutral', 'Waits'],
  SENDING: ['neutral', 'Being sent'],
  SENT: ['good', 'Sent'],
  DELIVERED: ['good', 'Delivered'],
  OPENED: ['good', 'Opened'],
  CLICKED: ['good', 'Clicked'],
  BOUNCED: ['bad', 'Bounced'],
  COMPLAINED: ['bad', 'Marked as spam'],
  FAILED: ['bad', 'Failed'],
  RECEIVED: ['neutral', 'Received'],
};

/** The state of a mail. Its tooltip gives the reason why the mail was not sent. */
export function EmailState({
  email: { status, outcome, reasonCode },
}: {
  email: Pick<EmailSummary, 'status' | 'outcome' | 'reasonCode'>;
}) {
  const [tone, text] = emails[status];
  const title = reasonCode === null ? undefined : textOfReason(reasonCode);
  return (
    <span title={title}>
      {outcome === 'withheld' ? (
        <State tone="warning">Withheld</State>
      ) : (
        <State tone={tone}>{text}</State>
      )}
    </span>
  );
}
