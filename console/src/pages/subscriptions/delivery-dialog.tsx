import type { EventDelivery } from '../../api/api.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { attemptText } from '../../words/settings/subscriptions.ts';
import { fullTime } from '../../words/times.ts';

/** The attempts of a delivery, and the last response of the receiver. */
export function DeliveryDialog({
  delivery: { id, eventName, attempts, response },
  onClose,
}: {
  delivery: EventDelivery;
  onClose: () => void;
}) {
  return (
    <Dialog title={eventName} description={`webhook-id ${id}`} onClose={onClose}>
      {attempts.length === 0 ? (
        <p className="second">It was not sent yet.</p>
      ) : (
        <ol className="stack-list" aria-label="Attempts">
          {attempts.map((attempt) => (
            <li key={attempt.at}>
              {attemptText(attempt)}{' '}
              <span className="second">
                {fullTime(attempt.at)}, {attempt.ms} ms
              </span>
            </li>
          ))}
        </ol>
      )}
      {response !== null && <pre className="code wrapped">{response}</pre>}
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
