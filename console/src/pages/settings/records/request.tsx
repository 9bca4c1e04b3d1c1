import type { LoggedRequestDetail } from '../../../api/api.ts';
import { useRead } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { CopyButton, Loaded } from '../../../design/parts.tsx';
import { useProject } from '../../../shell/project.ts';
import { textOfActor } from '../../../words/actors.ts';
import { fullTime } from '../../../words/times.ts';

const repeats: Record<NonNullable<LoggedRequestDetail['idempotency']>, string> = {
  first: 'First use of its Idempotency-Key',
  replayed: 'Repeated: it got the answer of the first one',
  refused: 'Its Idempotency-Key was used for another request',
};

/** One request, with the fields that were refused. */
export function RequestDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, project } = useProject();
  const request = useRead([project.id, 'requests', id], () =>
    api.get('/requests/{requestId}', { path: { requestId: id } }),
  );
  return (
    <Dialog title="Request" size="wide" onClose={onClose}>
      <Loaded query={request}>{(found) => <Facts request={found} />}</Loaded>
      <div className="actions">
        <CopyButton text={id}>Copy request id</CopyButton>
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Facts({ request }: { request: LoggedRequestDetail }) {
  const { errorCode, errors, details, idempotency, sample } = request;
  return (
    <>
      <dl className="facts">
        <dt>Request</dt>
        <dd>
          <code>
            {request.method} {request.route ?? '(unknown path)'}
          </code>
        </dd>
        <dt>Time</dt>
        <dd>
          {fullTime(request.at)} <code className="second">{request.at}</code>
        </dd>
        <dt>Status</dt>
        <dd>
          {request.status} {errorCode && <code>{errorCode}</code>}
        </dd>
        <dt>By</dt>
        <dd>
          {textOfActor(request.actor)}, from {request.ip}
        </dd>
        {idempotency && (
          <>
            <dt>Repeats</dt>
            <dd>{repeats[idempotency]}</dd>
          </>
        )}
        {sample > 1 && (
          <>
            <dt>Sample</dt>
            <dd>One of {sample} such requests is kept</dd>
          </>
        )}
      </dl>
      {errors && errors.length > 0 && (
        <ul className="stack" aria-label="Refused fields">
          {errors.map(({ field, code }) => (
            <li key={field + code}>
              <code>{field || 'The body'}</code>: <code>{code}</code>
            </li>
          ))}
        </ul>
      )}
      {details && <pre className="code">{JSON.stringify(details, null, 2)}</pre>}
    </>
  );
}
