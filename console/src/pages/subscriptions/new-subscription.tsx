import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { NewEventSubscription } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Form, useForm } from '../../design/form.tsx';
import { useProject } from '../../shell/project.ts';
import { SecretDialog } from './secret-dialog.tsx';
import { bodyOf, SubscriptionFields, type SubscriptionValues } from './subscription-fields.tsx';

const empty: SubscriptionValues = { url: '', events: '', description: '', headers: [], batch: '' };

/** Creates a subscription, and shows its secret once. */
export function NewSubscription({ onClose }: { onClose: () => void }) {
  const { api, project, path } = useProject();
  const navigate = useNavigate();
  const [made, setMade] = useState<NewEventSubscription | null>(null);
  const form = useForm(empty, async (values) => {
    setMade(await api.post('/event-subscriptions', { body: bodyOf(values) }));
    await readAgain(project.id, 'subscriptions');
  });
  if (made) {
    return (
      <SecretDialog
        secret={made.secret}
        onClose={() => {
          onClose();
          void navigate({ to: path(`settings/subscriptions/${made.id}`) });
        }}
      />
    );
  }
  return (
    <Dialog title="New subscription" onClose={onClose}>
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
