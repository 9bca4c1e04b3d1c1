import { useState } from 'react';
import { readAgain, useLive } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { CheckField, TextField } from '../../design/fields.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { Loaded } from '../../design/parts.tsx';
import { useProject } from '../../shell/project.ts';
import { typedOf, valueOf } from '../../values/kinds.ts';
import { isEnded, textOfJobState } from '../../words/jobs.ts';
import { counted } from '../../words/numbers.ts';
import { timeZone } from '../../words/times.ts';

const dayMs = 86_400_000;

/** Returns a typed time in ISO 8601. The API refuses any other text at its field. */
function timeOf(text: string): string {
  const time = valueOf(text, 'moment');
  return typeof time === 'string' ? time : text;
}

/** Sends the events of a time span again. */
export function ReplayDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const { api, project } = useProject();
  const [jobId, setJobId] = useState<string | null>(null);
  const yesterday = typedOf(new Date(Date.now() - dayMs).toISOString(), 'moment');
  const form = useForm(
    { from: yesterday, to: '', eventName: '', onlyFailed: true },
    async ({ from, to, eventName, onlyFailed }) => {
      const job = await api.post('/event-subscriptions/{id}/replay', {
        path: { id },
        body: {
          from: timeOf(from),
          ...(to !== '' && { to: timeOf(to) }),
          ...(eventName !== '' && { eventName }),
          onlyFailed,
        },
      });
      setJobId(job.jobId);
      await readAgain(project.id, 'subscriptions');
    },
  );
  if (jobId !== null) return <Replay id={id} jobId={jobId} onClose={onClose} />;
  return (
    <Dialog
      title="Replay"
      description="Events of a time span are sent again, in their order. The receiver knows repeats by the webhook-id."
      onClose={onClose}
    >
      <Form form={form}>
        <TextField
          label="From"
          type="datetime-local"
          {...form.field('from')}
          hint={`At most 30 days ago, in the zone ${timeZone()}.`}
        />
        <TextField
          label="To"
          type="datetime-local"
          {...form.field('to')}
          hint="Empty: until now."
        />
        <TextField
          label="Event"
          autoComplete="off"
          {...form.field('eventName')}
          hint="Empty: all events of the subscription."
        />
        <CheckField label="Only what was not delivered" {...form.field('onlyFailed')} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Replay
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function Replay({ id, jobId, onClose }: { id: string; jobId: string; onClose: () => void }) {
  const { api, project } = useProject();
  const job = useLive({
    key: [project.id, 'subscriptions', 'replay', jobId],
    read: () => api.get('/event-subscriptions/{id}/replay/{jobId}', { path: { id, jobId } }),
    isLive: ({ state }) => !isEnded(state),
  });
  return (
    <Dialog title="Replay" onClose={onClose}>
      <Loaded query={job} lines={1}>
        {({ state, result, failedReason }) => (
          <p role="status">
            {textOfJobState(state)}.{' '}
            {result && `${counted(result.replayed, 'event')} will be sent again.`} {failedReason}
          </p>
        )}
      </Loaded>
      <div className="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}
