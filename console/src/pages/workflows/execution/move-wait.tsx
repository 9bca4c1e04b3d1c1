import type { ExecutionDetails } from '../../../api/api.ts';
import { Button } from '../../../design/button.tsx';
import { Dialog } from '../../../design/dialog.tsx';
import { RadioGroup, TextField } from '../../../design/fields.tsx';
import { Form, useForm } from '../../../design/form.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { typedOf } from '../../../values/kinds.ts';
import { endOfWait } from '../../../words/operations/execution.ts';
import { timeZone } from '../../../words/times.ts';
import { useExecution } from './use-execution.ts';

type End = 'time' | 'now' | 'never';

/** Moves the end of the wait in which an execution is. */
export function MoveWait({
  execution,
  canBeEndless,
  onClose,
}: {
  execution: ExecutionDetails;
  canBeEndless: boolean;
  onClose: () => void;
}) {
  const { api, at, reload } = useExecution(execution);
  const { say } = useNotify();
  const end = endOfWait(execution);
  const first = { end: 'time' as End, until: end === null ? '' : typedOf(end, 'moment') };
  const form = useForm(first, async (values) => {
    const body = values.end === 'never' ? ({ forever: true } as const) : { until: untilOf(values) };
    await api.patch('/workflows/{id}/executions/{executionId}/wait', { ...at, body });
    await reload();
    onClose();
    say('The wait was moved.');
  });
  const { values } = form;
  return (
    <Dialog title="Move wait" onClose={onClose}>
      <Form form={form}>
        <RadioGroup
          label="The wait ends"
          value={values.end}
          onChange={(value) => form.set({ end: value as End })}
          options={[
            { value: 'time', text: 'At a time' },
            { value: 'now', text: 'Now' },
            ...(canBeEndless ? [{ value: 'never', text: 'Only with the event' }] : []),
          ]}
        />
        {values.end === 'time' && (
          <TextField
            label="Date and time"
            type="datetime-local"
            hint={`In the time zone ${timeZone()}.`}
            {...form.field('until')}
          />
        )}
        <div className="actions">
          <Button onClick={onClose}>Keep</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Move
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

/**
 * Returns the new end of the wait. An incomplete time is returned unchanged, so that the API
 * refuses it.
 */
function untilOf({ end, until }: { end: End; until: string }): string {
  const time = end === 'now' ? new Date() : new Date(until);
  return Number.isNaN(time.getTime()) ? until : time.toISOString();
}
