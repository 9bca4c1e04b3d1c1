import { useEffect } from 'react';
import type { BulkJob } from '../../api/api.ts';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Card, Loaded, Progress, State } from '../../design/parts.tsx';
import { Table } from '../../design/table.tsx';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { isEnded, textOfJobState } from '../../words/jobs.ts';

const doing = { subscribe: 'Subscribing', unsubscribe: 'Unsubscribing', delete: 'Deleting' };
const done = { subscribe: 'subscribed', unsubscribe: 'unsubscribed', delete: 'deleted' };

/** The progress of a bulk action, and its result at the end. */
export function BulkProgress({ jobId, onClose }: { jobId: string; onClose: () => void }) {
  const { api, project } = useProject();
  const job = useLive<BulkJob>({
    key: [project.id, 'bulk', jobId],
    read: () => api.get('/contacts/bulk/{jobId}', { path: { jobId } }),
    isLive: ({ state }) => !isEnded(state),
  });
  const progress = job.data?.progress;
  const hasEnded = job.data !== undefined && isEnded(job.data.state);
  useEffect(() => {
    if (progress !== undefined) void readAgain(project.id, 'contacts');
  }, [progress, hasEnded, project.id]);
  return (
    <Card
      label="Bulk action"
      actions={
        <Button isSmall onClick={onClose}>
          {hasEnded ? 'Close' : 'Hide'}
        </Button>
      }
    >
      <Loaded query={job} lines={1}>
        {(data) => (hasEnded ? <Result job={data} /> : <Running job={data} />)}
      </Loaded>
    </Card>
  );
}

function Running({ job }: { job: BulkJob }) {
  const { operation, totalRequested } = job.data;
  return (
    <>
      <span>
        {doing[operation]}{' '}
        {totalRequested === null ? 'contacts' : counted(totalRequested, 'contact')}: {job.progress}{' '}
        %
      </span>
      <Progress label="Progress" value={job.progress} />
    </>
  );
}

function Result({ job: { state, failedReason, result } }: { job: BulkJob }) {
  if (!result) {
    return (
      <State tone="bad">
        {textOfJobState(state)}
        {failedReason && `: ${failedReason}`}
      </State>
    );
  }
  const { operation, successCount, unchanged, failureCount, errors } = result;
  const changed = successCount - unchanged;
  return (
    <>
      <State tone={failureCount > 0 ? 'warning' : 'good'}>
        {[
          `${counted(changed, 'contact')} ${done[operation]}`,
          unchanged > 0 && `${unchanged} were so before`,
          failureCount > 0 && `${failureCount} failed`,
        ]
          .filter(Boolean)
          .join(', ')}
      </State>
      {errors.length > 0 && (
        <Table
          label="Failed contacts"
          rows={errors}
          keyOf={({ contactId }) => contactId}
          columns={[
            { name: 'Contact', cell: ({ email, contactId }) => email ?? contactId },
            { name: 'Reason', cell: ({ error }) => error },
          ]}
        />
      )}
    </>
  );
}
