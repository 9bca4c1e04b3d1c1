import { EverpostError } from '../../../api/api.ts';
import { readAgain } from '../../../api/queries.ts';
import { Button } from '../../../design/button.tsx';
import { useConfirm } from '../../../design/confirm.tsx';
import { Menu } from '../../../design/menu.tsx';
import { useNotify } from '../../../design/notices.tsx';
import { useAction } from '../../../design/use-action.ts';
import { useProject } from '../../../shell/project.ts';
import { providerUses, testSentence } from '../../../words/settings/providers.ts';
import type { OwnProvider } from './provider-values.ts';

/** Throws the error of a deletion. If the provider is in use, the message names its uses. */
function refuseInUse(error: unknown): never {
  if (!(error instanceof EverpostError) || error.code !== 'PROVIDER_IN_USE') throw error;
  const { code, status, requestId } = error;
  const suggestion = 'Remove it there first. Disable it, so that its mail settles.';
  throw new EverpostError(providerUses(error.details), { code, status, requestId, suggestion });
}

/** The actions on a provider of the project. */
export function ProviderActions({
  provider: { id, name, enabled, feedback },
  onEdit,
  onAddress,
}: {
  provider: OwnProvider;
  onEdit: () => void;
  onAddress: (feedbackUrl: string) => void;
}) {
  const { api, project, adminOnly } = useProject();
  const { say } = useNotify();
  const confirm = useConfirm();
  const path = { id };
  const test = useAction(async () => {
    say(`${name}: ${testSentence(await api.post('/providers/{id}/test', { path }))}`);
  });
  const turn = useAction(async () => {
    await api.patch('/providers/{id}', { path, body: { enabled: !enabled } });
    await readAgain(project.id, 'providers');
  });
  const rotate = useAction(async () => {
    const { feedbackUrl } = await api.post('/providers/{id}/rotate-token', { path });
    onAddress(feedbackUrl);
  });
  const remove = () =>
    confirm({
      title: `Delete ${name}?`,
      text: 'Its user and its secrets are lost. Mail that it took stays.',
      verb: 'Delete',
      async send() {
        await api.delete('/providers/{id}', { path }).catch(refuseInUse);
        await readAgain(project.id, 'providers');
      },
    });
  const hasWebhook = !['dsn', 'none', 'ses'].includes(feedback);
  return (
    <span className="actions">
      <Button
        isSmall
        isBusy={test.isBusy}
        disabledBecause={adminOnly}
        onClick={() => void test.run()}
      >
        Test
      </Button>
      <Menu
        button={<Button isSmall>More</Button>}
        items={[
          { text: 'Edit', disabledBecause: adminOnly, onChoose: onEdit },
          {
            text: enabled ? 'Disable' : 'Enable',
            disabledBecause: adminOnly,
            onChoose: () => void turn.run(),
          },
          {
            text: 'New webhook address',
            disabledBecause: adminOnly ?? (!hasWebhook && 'Its reports need no address.'),
            onChoose: () => void rotate.run(),
          },
          { kind: 'line' },
          { text: 'Delete', disabledBecause: adminOnly, onChoose: remove },
        ]}
      />
    </span>
  );
}
