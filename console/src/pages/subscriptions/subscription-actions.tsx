import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { CountedEventSubscription } from '../../api/api.ts';
import { readAgain } from '../../api/queries.ts';
import { Button } from '../../design/button.tsx';
import { useConfirm } from '../../design/confirm.tsx';
import { Menu } from '../../design/menu.tsx';
import { useNotify } from '../../design/notices.tsx';
import { useAction } from '../../design/use-action.ts';
import { useProject } from '../../shell/project.ts';
import { counted } from '../../words/numbers.ts';
import { attemptText, subscriptionName } from '../../words/settings/subscriptions.ts';
import { EditSubscription } from './edit-subscription.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { SecretDialog } from './secret-dialog.tsx';

type Open = 'edit' | 'replay' | { secret: string } | null;

/** The actions on a subscription. */
export function SubscriptionActions({ subscription }: { subscription: CountedEventSubscription }) {
  const { api, project } = useProject();
  const { say } = useNotify();
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  const { id, enabled, paused } = subscription;
  const change = useAction(async (body: { paused: boolean } | { enabled: boolean }) => {
    await api.patch('/event-subscriptions/{id}', { path: { id }, body });
    await readAgain(project.id, 'subscriptions');
  });
  const test = useAction(async () => {
    const result = await api.post('/event-subscriptions/{id}/test', { path: { id } });
    say(`${attemptText(result)} (${result.ms} ms)`);
  });
  const rotate = useRotate(id, (secret) => setOpen({ secret }));
  const remove = useRemove(subscription);
  return (
    <>
      <Button isBusy={test.isBusy} onClick={() => void test.run()}>
        Test
      </Button>
      <Button disabledBecause={!enabled && 'Enable it first.'} onClick={() => setOpen('replay')}>
        Replay
      </Button>
      <Button isBusy={change.isBusy} onClick={() => void change.run({ paused: !paused })}>
        {paused ? 'Resume' : 'Pause'}
      </Button>
      <Button onClick={rotate}>Rotate secret</Button>
      <Menu
        button={<Button>More</Button>}
        items={[
          { text: 'Edit', onChoose: () => setOpen('edit') },
          {
            text: enabled ? 'Disable' : 'Enable',
            onChoose: () => void change.run({ enabled: !enabled }),
          },
          { kind: 'line' },
          { text: 'Delete', onChoose: remove },
        ]}
      />
      {open === 'edit' && <EditSubscription subscription={subscription} onClose={close} />}
      {open === 'replay' && <ReplayDialog id={id} onClose={close} />}
      {open !== null && typeof open === 'object' && (
        <SecretDialog
          secret={open.secret}
          note="The former secret also signs for 24 hours, so that nothing is lost meanwhile."
          onClose={close}
        />
      )}
    </>
  );
}

function useRotate(id: string, show: (secret: string) => void): () => void {
  const { api, project } = useProject();
  const confirm = useConfirm();
  return () =>
    confirm({
      title: 'Rotate secret?',
      text: 'Requests are signed with a new secret at once. The present one also signs for 24 hours; a former one ends now.',
      verb: 'Rotate secret',
      isDangerous: false,
      async send() {
        const { secret } = await api.post('/event-subscriptions/{id}/rotate-secret', {
          path: { id },
        });
        await readAgain(project.id, 'subscriptions');
        show(secret);
      },
    });
}

function useRemove(subscription: CountedEventSubscription): () => void {
  const { api, project, path } = useProject();
  const confirm = useConfirm();
  const navigate = useNavigate();
  const { id, lag } = subscription;
  return () =>
    confirm({
      title: `Delete ${subscriptionName(subscription)}?`,
      text: `Its secret and the list of its deliveries are lost. ${counted(lag.pending, 'event')} that wait are not sent.`,
      verb: 'Delete',
      async send() {
        await api.delete('/event-subscriptions/{id}', { path: { id } });
        await navigate({ to: path('settings/subscriptions') });
        await readAgain(project.id, 'subscriptions', 'list');
      },
    });
}
