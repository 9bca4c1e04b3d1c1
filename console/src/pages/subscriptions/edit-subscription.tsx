import type { EventSubscription } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useProject } from '../../shell/project.ts';
import { bodyOf, SubscriptionFields, type SubscriptionValues } from './subscription-fields.tsx';

export function EditSubscription({
  subscription: { id, url, events, description, batch },
  onClose,
}: {
  subscription: EventSubscription;
  onClose: () => void;
}) {
  const { api, project } = useProject();
  const form = useForm<SubscriptionValues>(
    {
      url,
      events: events.join('\n'),
      description: description ?? '',
      headers: null,
      batch: batch ? String(batch.max) : '',
    },
    async (values) => {
      await api.patch('/event-subscriptions/{id}', { path: { id }, body: bodyOf(values) });
      await readAgain(project.id, 'subscriptions');
      onClose();
    },
  );
  return (
    <Dialog title="Edit subscription" onClose={onClose}>
      <Form form={form}>
        <SubscriptionFields form={form} />
        <div className="actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
