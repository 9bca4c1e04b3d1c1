import { EverpostError } from '../api/api.ts';
import { textOfProblem } from '../words/problems.ts';
import { Button } from './button.tsx';

/** An error: what failed, what to do, and the request id with which operators find the request. */
export function ProblemAlert({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { message, suggestion, requestId, code } = textOfProblem(error);
  return (
    <div className="alert" role="alert" tabIndex={-1}>
      <strong>{message}</strong>
      {suggestion && <span>{suggestion}</span>}
      {error instanceof EverpostError &&
        error.errors.map(({ field, message: fault }) => (
          <span key={field + fault}>
            <code>{field}</code>: {fault}
          </span>
        ))}
      {(code || requestId) && (
        <span className="second small">
          {code && <code>{code}</code>} {requestId && `Request ${requestId}`}
        </span>
      )}
      {onRetry && (
        <div className="actions">
          <Button isSmall onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </div>
  );
}
